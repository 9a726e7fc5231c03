"""`python -m loopscm`."""

from loopscm.cli.main import app

app()
