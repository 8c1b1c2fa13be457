"""The one Lambda entry: settings → the app of `$AGENTS_NAME`. The runtime imports `app` from here and serves it."""

from __future__ import annotations

from functions.logs import configure_logs
from functions.observing.middleware import Observing
from functions.runtime import snapstart
from functions.settings import get_settings
from functions.web import create_app

settings = get_settings()
configure_logs(settings)
served = create_app(settings.name, settings)
app = Observing(served, settings)
if snapstart.enabled():
    # here, not above: an environment that is not cloned is not primed
    from functions.web.priming import prime

    snapstart.before_snapshot(prime, served, settings)
