"""What a run costs on AWS, from counters that were measured on this project and prices with their source: `agents cost`.

units.py         how AWS counts: DynamoDB's units, Lambda's billed milliseconds
counters.py      what a run of each agent used, measured (`counters.json`, written by `python -m tests.bench.cost`)
prices.py        list prices by region, each with its date and source (`prices.json`)
assumptions.py   what neither was measured nor is a price, and may be replaced by the user
usage.py         counters and assumptions → what a run is billed for
bill.py          usage and prices → dollars, for so many runs
container.py     the same runs in a standing container with Postgres
comparison.py    both by runs a month, and where they meet
limits.py        what gives way first, and the setting that moves it
report.py        all of it as text and as JSON
plot.py          and as a picture
"""
