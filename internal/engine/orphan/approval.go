package orphan

import (
	"fmt"

	"github.com/millwright-dev/millwright/api/millwright"
)

// ApproveAnnotation on the object that holds a class approves the removal of that many of its instances
// without a machine at once: "12". It is a number, so that a forgotten approval does not approve everything
// for ever. Provider IDs approve the removal of those instances, created by any control plane, and also if
// their nodes are ready: "aws:///eu-1a/i-1". Several entries are separated by commas.
const ApproveAnnotation = millwright.ApproveOrphans

// ParseOrphanApproval reads [ApproveAnnotation]: how many removals it approves, and of which instances. An
// invalid value approves nothing.
func ParseOrphanApproval(annotations map[string]string) (count int, named []string, err error) {
	count, named, bad := millwright.Read(annotations).Approval(ApproveAnnotation)
	if bad != "" {
		err = fmt.Errorf("%s: %q is neither a number of removals nor a provider ID", ApproveAnnotation, bad)
	}
	return count, named, err
}
