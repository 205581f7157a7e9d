package lifecycle

import (
	"fmt"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/provider"
)

// Doubted says why a scope that does not list a machine's instance is not believed about
// that, empty when it is. It is given what the scope lists, the error where that is not
// all, and the provider IDs that other machines of the scope have recorded.
func Doubted(recorded []string, listed []provider.Instance, err error) string {
	if err != nil {
		return fmt.Sprintf("the scope cannot be listed as a whole: %v", err)
	}
	return orphan.Scant(recorded, listed)
}
