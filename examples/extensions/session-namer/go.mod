module session-namer

go 1.22

require github.com/zot-agent/zot/sdks/go v0.0.0

replace github.com/zot-agent/zot/sdks/go => ./zot-ext
