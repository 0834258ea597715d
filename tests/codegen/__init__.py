"""Makes everything that describes the extension wire elsewhere from what ``zot.agent.extproto.schema`` reads off it."""
