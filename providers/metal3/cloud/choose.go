package cloud

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/metal3/spec"
)

// Why a host is not available, in the order of messages.
const (
	whyUnmatched = "not chosen by hostSelector"
	whyTaken     = "taken"
	whyGoing     = "being deleted"
	whyPaused    = "paused or detached"
	whyForeign   = "provisioned by something else"
	whyBroken    = "in error"
	whyState     = "not available yet"
)

var whys = []string{whyUnmatched, whyTaken, whyGoing, whyPaused, whyForeign, whyBroken, whyState}

// unfit is why a host is not available for a new machine; empty: it is available.
func unfit(h *host, selector labels.Selector) string {
	switch at := h.Status.Provisioning.State; {
	case !selector.Matches(labels.Set(h.Labels)):
		return whyUnmatched
	case h.Spec.ConsumerRef != nil:
		return whyTaken
	case h.DeletionTimestamp != nil:
		return whyGoing
	case untouched(h) != "":
		return whyPaused
	case h.Spec.ExternallyProvisioned, deploys(h):
		return whyForeign
	case h.Status.ErrorMessage != "":
		return whyBroken
	case at != metal3.StateReady && at != metal3.StateAvailable:
		return whyState
	}
	return ""
}

// lookAgain is the retry interval if no host is free, as in the original: a retry costs one list, and hosts
// may become free at any time.
const lookAgain = 30 * time.Second

// choose selects a host for a machine. Each machine has its own order of hosts, so that several new machines
// seldom choose the same one. If no host is free, the error counts the hosts by reason.
func choose(all []*host, s *spec.Machine, namespace, token string) (*host, error) {
	selector, counts := s.Selector(), map[string]int{}
	free := slices.DeleteFunc(slices.Clone(all), func(h *host) bool {
		why := unfit(h, selector)
		counts[why]++
		return why != ""
	})
	if len(free) == 0 {
		none := provider.ExhaustedIn(provider.ScopeType, "no host of namespace %s is free%s", namespace, summary(counts))
		none.After = lookAgain
		return nil, none
	}
	order := func(h *host) []byte {
		sum := sha256.Sum256([]byte(token + "/" + string(h.UID)))
		return sum[:]
	}
	return slices.MinFunc(free, func(a, b *host) int { return bytes.Compare(order(a), order(b)) }), nil
}

// summary lists why hosts are not free: ": 3 are taken, 1 is in error".
func summary(counts map[string]int) string {
	var all []string
	for _, why := range whys {
		switch n := counts[why]; n {
		case 0:
		case 1:
			all = append(all, "1 is "+why)
		default:
			all = append(all, fmt.Sprintf("%d are %s", n, why))
		}
	}
	return ": " + cmp.Or(strings.Join(all, ", "), "it has no hosts")
}
