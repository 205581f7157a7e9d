package machine

import "github.com/millwright-dev/millwright/internal/dialect"

// lens has the optional interfaces that the lens of machines implements; the others are nil. The policy of
// an API without such an interface does not use it.
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
