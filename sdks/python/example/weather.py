"""A command and a tool about the weather, made up from the name of the city."""

from __future__ import annotations

from zot.ext import Extension, Response

ext = Extension("weather", "1.0.0")


@ext.command("weather", "the weather in a city")
def ask(args: str) -> Response:
    return Response.prompt(f"Tell me the weather in {args or 'Berlin'} in one line.")


@ext.tool()
def weather(city: str, days: int = 1) -> str:
    """The weather in a city for the next days."""
    skies = ("sun", "rain", "fog", "snow")
    return f"{city}: {skies[sum(city.encode()) % len(skies)]} for {days} day(s)"


if __name__ == "__main__":
    ext.run()
