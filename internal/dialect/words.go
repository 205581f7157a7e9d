package dialect

import (
	"fmt"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// GivenUp says why a machine was given up. The words for one that was not healthy for too
// long are those that clients know, and the same in every API; otherwise they are the decision's.
func GivenUp(name string, why lifecycle.Decision) string {
	if why.Reason != lifecycle.ReasonHealthTimeout || why.Args.Conditions == "" {
		return why.Message
	}
	text := fmt.Sprintf("Machine %s health checks failing since last %v minutes. Updating machine phase to Failed. Node Conditions: %s",
		name, why.Args.Timeout.Minutes(), why.Args.Conditions)
	if why.Args.Detail != "" {
		text += ". Its update in place failed: " + why.Args.Detail
	}
	return text
}
