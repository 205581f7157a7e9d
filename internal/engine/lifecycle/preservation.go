package lifecycle

import "time"

// asked returns the wish that counts for a decision about a failed machine without its node at hand: the last
// known wish of the node wins over the machine's own.
func (k Preservation) asked() Wish {
	if k.LastApplied != WishNone {
		return k.LastApplied
	}
	return k.Own
}

// Active reports whether the machine is preserved at now.
func (k Preservation) Active(now time.Time) bool { return now.Before(k.Until) }

// Started reports whether preserving it began, even if it is over: counters of preserved machines rely on that,
// as their clients do.
func (k Preservation) Started() bool { return !k.Until.IsZero() }

// Spares reports whether a failed machine is left alone at now: until its preservation ends, or because a
// requested one has not begun.
func (k Preservation) Spares(now time.Time) bool {
	if !k.Started() {
		return preserves(k.asked())
	}
	return k.Active(now)
}

// ByOwner reports whether the machine's owner chose it.
func (k Preservation) ByOwner() bool { return k.Own == WishOwner }

// Decided reports whether there is nothing left to choose: a user chose for or against it, or the machine is
// preserved already, or was until now.
func (k Preservation) Decided() bool {
	return preserves(k.asked()) || k.asked() == WishNot || k.Started()
}

func preserves(w Wish) bool { return w == WishNow || w == WishFailed || w == WishOwner }
