package lifecycle

import (
	"fmt"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/provider"
)

// Doubted returns why a scope that does not list a machine's instance is not trusted about that; empty if it
// is trusted. Its inputs are the listing of the scope, the error if that is incomplete, and the provider IDs
// that other machines of the scope have recorded.
func Doubted(recorded []string, listed []provider.Instance, err error) string {
	if err != nil {
		return fmt.Sprintf("the scope cannot be listed as a whole: %v", err)
	}
	return orphan.Scant(recorded, listed)
}

// AbsenceMatters reports whether the engine would act on an answer that lacks the machine's instance (fail the machine, or continue its
// deletion), and nothing known of the machine contradicts that answer. Only then is a listing of the other machines' instances worth its
// calls ([Doubted]).
func (w World) AbsenceMatters(m Machine, p Policy) bool {
	switch {
	case !w.Instances.Looked || len(w.Instances.Owned()) > 0 || !m.Recorded.Provisioned:
		return false
	case w.Instances.SeenToGo || w.Unlisted.For > 0 || w.Contradiction(m) != "":
		return false
	case m.Deleted.IsZero():
		return p.Join.MissingFails && m.Stage != StageFailed
	}
	return m.HasFinalizer && !m.Deletion.Abandon
}
