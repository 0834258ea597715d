"""Makes everything that describes the extension wire elsewhere from what ``generate.schema`` reads off it."""
