"""The one Lambda entry: settings → the app of `$AGENTS_NAME`. The runtime imports `app` from here and serves it."""

from __future__ import annotations

from functions.logs import configure_logs
from functions.observing.middleware import Observing
from functions.settings import get_settings
from functions.web import create_app

settings = get_settings()
configure_logs(settings)
app = Observing(create_app(settings.name, settings), settings)
