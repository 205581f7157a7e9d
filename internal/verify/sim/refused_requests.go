package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// refusalProfile says which requests API servers refuse.
type refusalProfile struct {
	// overloads: for some time they refuse most requests of one verb, or of all, and report when to retry.
	overloads bool
	// forbids: for some time a webhook denies changes of one kind by one verb.
	forbids bool
}

func (s *refusalProfile) draw(r *rand.Rand) { s.overloads, s.forbids = r.IntN(6) == 0, r.IntN(5) == 0 }

// retries is how often budgets may refuse an eviction. A controller must distinguish such a refusal from an overloaded
// server; nil: the default.
func (s refusalProfile) retries() *int32 {
	if !s.overloads {
		return nil
	}
	return ptr.To[int32](2)
}

// refusals are the present refusals of API servers and of the cloud.
type refusals struct {
	overload overload
	denial   denial
	sales    []sale
	account  account
}

// overload is the overload of an API server, which refuses a percentage of the requests of a sort.
type overload struct {
	of      *store.Store
	sort    string
	percent int
	until   time.Time
}

// denial denies a verb on a kind, with the reason Forbidden or Invalid.
type denial struct {
	kind, verb string
	invalid    bool
	until      time.Time
}

// sortOf is the sort of a request for API servers and webhooks: its verb. A patch counts as an update, and a subresource
// has a sort of its own.
func sortOf(c store.Call) string {
	switch {
	case c.Part != "":
		return c.Part
	case c.Verb == "patch":
		return "update"
	}
	return c.Verb
}

// startOverload begins an overload.
func (w *World) startOverload() {
	o := &w.refusals.overload
	if w.now.Before(o.until) {
		return
	}
	sorts := []string{"", "", "get", "list", "update", "delete", "create", "status", "eviction", "eviction"}
	*o = overload{of: w.target, sort: sorts[w.roll(len(sorts))], percent: w.between(50, 100)}
	if w.chance(50) {
		o.of = w.store
	}
	o.until = w.now.Add(time.Duration(w.between(10, []int{60, 300, 900}[w.roll(3)])) * time.Second)
	w.tracef("API server", "of the cluster %s is OVERLOADED until %v: %d%% of sort %q", w.clusterOf(o.of), o.until.Sub(epoch), o.percent, o.sort)
}

// startDenial begins a denial.
func (w *World) startDenial() {
	d := &w.refusals.denial
	if w.now.Before(d.until) {
		return
	}
	kinds, verbs := []string{"Machine", "Machine", "Machine", "Node", "Node", "Pod", "MachineSet"}, []string{"create", "update", "update", "status", "delete"}
	*d = denial{kind: kinds[w.roll(len(kinds))], verb: verbs[w.roll(len(verbs))], invalid: w.chance(30)}
	if d.kind == "Pod" {
		d.verb = []string{"eviction", "delete"}[w.roll(2)]
	}
	d.until = w.now.Add(time.Duration(w.between(10, []int{60, 600, 3600}[w.roll(3)])) * time.Second)
	w.tracef("webhook", "DENIES to %s any %s until %v, as invalid %v", d.verb, d.kind, d.until.Sub(epoch), d.invalid)
}

const overloaded = "the server has received too many requests and has asked us to try again later"

// refusalOf is the error of a refused request; nil if the server accepts it.
func (w *World) refusalOf(s *store.Store, c store.Call) error {
	o, d := w.refusals.overload, w.refusals.denial
	if o.of == s && w.now.Before(o.until) && (o.sort == "" || o.sort == sortOf(c)) && w.chance(o.percent) {
		return apierrors.NewTooManyRequests(overloaded, w.between(1, 10))
	}
	if w.now.Before(d.until) && c.Kind.Kind == d.kind && sortOf(c) == d.verb {
		return d.refusal(c)
	}
	return nil
}

func (d denial) refusal(c store.Call) error {
	if d.invalid {
		return apierrors.NewInvalid(c.Kind.GroupKind(), c.Key.Name, field.ErrorList{field.Forbidden(field.NewPath("metadata"), "not by our policy")})
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: c.Kind.Group, Resource: c.Kind.Kind}, c.Key.Name, errors.New(`admission webhook "policy.example.com" denied the request: not now`))
}

// refusalActions are the actions of this profile.
func (w *World) refusalActions() (out []func()) {
	if w.profile.overloads {
		out = append(out, w.startOverload, w.startOverload)
	}
	if w.profile.forbids {
		out = append(out, w.startDenial, w.startDenial)
	}
	return out
}
