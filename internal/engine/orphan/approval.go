package orphan

import (
	"fmt"

	"github.com/millwright-dev/millwright/api/millwright"
)

// ApproveAnnotation allows, on whatever a class is read from, to remove so
// many of its instances at once that nobody wants: "12". It is a number so
// that an approval that was forgotten does not approve everything for ever.
// Provider IDs allow to remove the very instances, by whomever they were made
// and also where their nodes are ready: "aws:///eu-1a/i-1". Several entries are
// separated by commas.
const ApproveAnnotation = millwright.ApproveOrphans

// ParseOrphanApproval reads [ApproveAnnotation]: how many removals it approves, and
// of which instances. One that cannot be read approves nothing.
func ParseOrphanApproval(annotations map[string]string) (count int, named []string, err error) {
	count, named, bad := millwright.Read(annotations).Approval(ApproveAnnotation)
	if bad != "" {
		err = fmt.Errorf("%s: %q is neither a number of removals nor a provider ID", ApproveAnnotation, bad)
	}
	return count, named, err
}
