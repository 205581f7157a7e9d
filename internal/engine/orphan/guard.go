package orphan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/millwright-dev/millwright/api/millwright"
)

// Annotations about deletions of many machines or instances at once.
const (
	// ApproveAnnotation allows, on whatever a class is read from, to remove so
	// many of its instances at once that nobody wants: "12". It is a number so
	// that an approval that was forgotten does not approve everything for ever.
	// Provider IDs allow to remove the very instances, by whomever they were made
	// and also where their nodes are ready: "aws:///eu-1a/i-1". Several entries are
	// separated by commas.
	ApproveAnnotation = millwright.ApproveOrphans
	// MaxShareAnnotation on a set or a deployment asks for the same guard for
	// its machines: "30%". Without it users remove as many as they like.
	MaxShareAnnotation = millwright.MaxDeletionShare
	// ApproveShrinkAnnotation allows, on such a set or deployment, that so many of
	// its machines go at once: "12". It is another than the collector's: who lets
	// a set shrink has not looked at what else there is in its account.
	ApproveShrinkAnnotation = millwright.ApproveDeletion
)

// Limit is how much of a whole may be removed at once.
type Limit struct {
	// Percent of the whole, rounded down.
	Percent int
	// Min is allowed whatever the share is: one of three is 33 %.
	Min int
}

// DefaultLimit is a fifth, and always one.
var DefaultLimit = Limit{Percent: 20, Min: 1}

// ParseLimit reads a share such as "30%".
func ParseLimit(text string) (Limit, error) {
	number, ok := strings.CutSuffix(text, "%")
	percent, err := strconv.Atoi(number)
	if !ok || err != nil || percent < 1 || percent > 100 {
		return Limit{}, fmt.Errorf("%q is not a share from 1%% to 100%%", text)
	}
	return Limit{Percent: percent, Min: DefaultLimit.Min}, nil
}

// ParseApproval reads how many removals the annotation key approves; where it is
// not there, or empty, none.
func ParseApproval(annotations map[string]string, key string) (int, error) {
	text := annotations[key]
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %q is not a number of removals", key, text)
	}
	return n, nil
}

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

// Of is how many of total may go: of 30 with the default limit 6, of 3 one.
func (l Limit) Of(total int) int { return max(l.Min, total*l.Percent/100) }

// Refuse says why doomed of total must not be removed at once when so many are
// approved, and which annotation would approve them; it is empty when they may.
func (l Limit) Refuse(total, doomed, approved int, annotation string) string {
	most := max(l.Of(total), approved)
	if doomed <= most {
		return ""
	}
	return fmt.Sprintf("%d of %d would be removed, and at most %d may be at once; annotation %s: \"%d\" approves it",
		doomed, total, most, annotation, doomed)
}
