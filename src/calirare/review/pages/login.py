"""The login page: plain HTML, as a stranger is shown nothing of the app."""

from __future__ import annotations

from flask import Response, render_template_string

from calirare.scoring.service.access import LONGEST_NAME

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Log in · calirare review desk</title>
  <link rel="stylesheet" href="/assets/desk.css">
</head>
<body class="login">
  <main class="login-card">
    <h1 class="brand"><span class="mark"></span>calirare <span class="brand-second">review desk</span></h1>
    <form method="post" action="/login">
      <label for="reviewer">Your name</label>
      <input id="reviewer" name="reviewer" maxlength="{{ longest }}" required autocomplete="username" value="{{ name }}" autofocus>
      <label for="token">Token</label>
      <input id="token" name="token" type="password" required autocomplete="current-password">
      {% if message %}<p class="login-message" role="alert">{{ message }}</p>{% endif %}
      <button class="button primary" type="submit">Log in</button>
    </form>
    <p class="hint">The token was set by whoever started the desk. Your name is written beside every decision you make.</p>
  </main>
</body>
</html>
"""


def login_page(message: str = "", code: int = 200, name: str = "") -> Response:
    """The form, with a message if something was wrong."""
    return Response(
        render_template_string(_PAGE, message=message, name=name, longest=LONGEST_NAME),
        status=code,
        mimetype="text/html",
    )
