"""tushare: analyses A-shares with the tools of a market data server."""
