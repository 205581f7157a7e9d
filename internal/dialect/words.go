package dialect

import (
	"fmt"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// GivenUp returns why a machine failed. The text for a machine that was unhealthy for too long is the one
// that clients know, and the same in every API; otherwise it is the decision's.
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
