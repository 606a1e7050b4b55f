//! What the air does to a frame: models of loss and damage, traces, and the media that carry frames.
