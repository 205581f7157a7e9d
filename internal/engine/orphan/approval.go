package orphan

import (
	"fmt"
	"strconv"
	"strings"

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
	for entry := range strings.SplitSeq(annotations[ApproveAnnotation], ",") {
		entry = strings.TrimSpace(entry)
		n, bad := strconv.Atoi(entry)
		switch {
		case entry == "":
		case strings.Contains(entry, "://"):
			named = append(named, entry)
		case bad != nil || n < 0:
			return 0, nil, fmt.Errorf("%s: %q is neither a number of removals nor a provider ID", ApproveAnnotation, entry)
		default:
			count = max(count, n)
		}
	}
	return count, named, nil
}
