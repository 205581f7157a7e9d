package machine

import "github.com/millwright-dev/millwright/internal/dialect"

// lens is what the lens of machines also is; nil what it is not. The policy of an API
// without it asks for none of that.
type lens struct {
	updates   dialect.InPlaceUpdater
	preserves dialect.Preserver
	narrates  dialect.DrainNarrator
}

func lensOf(machines any) (l lens) {
	l.updates, _ = dialect.As[dialect.InPlaceUpdater](machines)
	l.preserves, _ = dialect.As[dialect.Preserver](machines)
	l.narrates, _ = dialect.As[dialect.DrainNarrator](machines)
	return l
}
