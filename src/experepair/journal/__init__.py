"""The one record of a repair: written before its effect is used, fsynced, replayed."""
