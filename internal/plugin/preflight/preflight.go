// Package preflight judges whether Millwright can replace machine-api-operator or machine-controller-manager in a
// cluster. It reports the obstacles, and what Millwright would do to each object in the first hour.
//
// The package performs no I/O and reads no clock. The caller computes [Object.Does] and the answers with the decision
// functions of the controllers.
package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/explain"
)

// Facts has the facts about a cluster.
type Facts struct {
	// Objects has all objects of the APIs. Definitions has their CRDs, including CRDs that the cluster lacks.
	Objects     []Object
	Definitions []Definition
	Leases      []Lease
	// Served has infrastructures for which a controller runs, in addition to [Providers]. It uses the names that
	// objects use.
	Served []string
	// Lacks has the missing rights of the checked accounts. Asked means that the caller checked at least one account.
	Lacks []Lack
	Asked bool
	// Gaps has texts about the objects that could not be read.
	Gaps []string
}

// Providers has the infrastructures that Millwright supports, by the names that objects use: the kind of a provider
// spec, or the provider of a machine class.
var Providers = []string{
	"KubemarkMachineProviderConfig", "kubemark",
	"AWSMachineProviderConfig", "AWS",
	"AlibabaCloudMachineProviderConfig", "Alicloud",
	"AzureMachineProviderSpec", "Azure",
	"GCPMachineProviderSpec", "GCP",
	"LibvirtMachineProviderConfig", "libvirt",
	"OpenstackProviderSpec", "OpenStack",
	"VSphereMachineProviderSpec", "vsphere",
	"KubevirtMachineProviderSpec", "KubeVirt",
	"BareMetalMachineProviderSpec", "Metal3",
	"Yandex", // only machine.sapcloud.io has a spec
}

// Object is one object of an API.
type Object struct {
	explain.Answer
	// Deleting means that the object is under deletion.
	Deleting bool
	// Owner is the object in the controller reference. It is nil without such a reference.
	Owner *explain.Subject
	// Does describes what the controllers do to the machines of a deployment or a set. It is empty if they do
	// nothing.
	Does string
	// Infrastructure is the infrastructure as the object writes it. It is empty if the object names none.
	Infrastructure string
	// Unknown has the paths of the fields that Millwright's types do not have.
	Unknown []string
	// Authority is the API that manages the object. It is empty if the machine API manages the object.
	Authority string
}

// Definition is a CRD.
type Definition struct {
	Name string
	// Present means that the cluster has the CRD. Needed means that the API does not work without the CRD.
	Present, Needed bool
	// Serves has the versions that the API server serves. Wants is the version that Millwright uses.
	Serves []string
	Wants  string
}

// Lack has the rights that a role of Millwright requires and an account lacks.
type Lack struct {
	Account, Role string
	// Rights has clauses such as "get, list nodes".
	Rights []string
}

// Lease is a lease of an original program, or of another installation of Millwright.
type Lease struct {
	explain.Lease
	// Leads describes the program that uses the lease for leader election.
	Leads string
}

// Effect is the kind of work that Millwright does on an object.
type Effect string

// Values of [Effect].
const (
	// Bookkeeping: Millwright writes a finalizer, conditions or its own annotations. No machine changes.
	Bookkeeping Effect = "Bookkeeping"
	// Continues: a change that has begun, or that a user has requested, continues.
	Continues Effect = "Continues"
	// Watches: the object is unhealthy. Its timeouts and health checks may take effect.
	Watches Effect = "Watches"
)

// Verdict is the effect of Millwright on one object.
type Verdict struct {
	explain.Subject
	Effect Effect `json:"effect"`
	Text   string `json:"text,omitempty"`
	// Under is the deployment or set whose change includes this object.
	Under *explain.Subject `json:"under,omitempty"`
}

// Block is an obstacle to the takeover.
type Block struct {
	// Reason is a stable word for programs. What describes the obstacle. Do is the remedy.
	Reason string `json:"reason"`
	What   string `json:"what"`
	Do     string `json:"do"`
	// Rights has the missing rights. Objects has the affected objects.
	Rights  []string          `json:"rights,omitempty"`
	Objects []explain.Subject `json:"objects,omitempty"`
}

// Reasons of blocks.
const (
	ReasonLeaseHeld    = "LeaseHeld"
	ReasonProvider     = "UnsupportedProvider"
	ReasonVersion      = "UnknownVersion"
	ReasonField        = "UnknownField"
	ReasonMissing      = "DefinitionMissing"
	ReasonRights       = "MissingRights"
	ReasonAuthority    = "OtherAuthority"
	ReasonUnread       = "Unread"
	ReasonNoDefinition = "NoAPI"
)

// Report is the result of [Judge].
type Report struct {
	// Ready means that there is no obstacle. Quiet means that Millwright would do only bookkeeping.
	Ready   bool      `json:"ready"`
	Quiet   bool      `json:"quiet"`
	Blocks  []Block   `json:"blocks"`
	Objects []Verdict `json:"objects"`
	Notes   []string  `json:"notes,omitempty"`
}

// Judge returns the report about a cluster at the time now.
func Judge(now time.Time, f Facts) Report {
	r := Report{Quiet: true, Blocks: []Block{}, Objects: []Verdict{}}
	r.Blocks = append(r.Blocks, leases(now, f.Leases)...)
	r.Blocks = append(r.Blocks, definitions(f.Definitions)...)
	r.Blocks = append(r.Blocks, infrastructures(f)...)
	r.Blocks = append(r.Blocks, fields(f.Objects)...)
	r.Blocks = append(r.Blocks, authorities(f.Objects)...)
	for _, l := range f.Lacks {
		if len(l.Rights) > 0 {
			r.Blocks = append(r.Blocks, Block{
				Reason: ReasonRights, What: fmt.Sprintf("the account %s may not do all that %s has to", l.Account, l.Role),
				Do: "bind what config/rbac/" + l.Role + " grants to it", Rights: l.Rights,
			})
		}
	}
	for _, text := range f.Gaps {
		r.Blocks = append(r.Blocks, Block{Reason: ReasonUnread, What: "was not seen: " + text, Do: "run preflight again with the right to read it"})
	}
	all := map[explain.Subject]Object{}
	for _, o := range f.Objects {
		all[o.Subject] = o
	}
	for _, o := range f.Objects {
		v := judged(o, all)
		r.Quiet = r.Quiet && v.Effect == Bookkeeping
		r.Objects = append(r.Objects, v)
	}
	if !f.Asked {
		r.Notes = append(r.Notes, "Rights were not looked at: --rights <role>=<namespace>/<account> does, for each account under which a program will run.")
	}
	r.Ready = len(r.Blocks) == 0
	return r
}

// judged returns the effect on an object. A deletion takes precedence: other changes of an object under deletion have
// no effect.
func judged(o Object, all map[explain.Subject]Object) Verdict {
	v := Verdict{Subject: o.Subject, Effect: Bookkeeping}
	says := strings.TrimPrefix(o.Sentence, o.Subject.String()+" ")
	switch {
	case o.Deleting:
		v.Effect, v.Text = Continues, "its deletion goes on from where it is: "+strings.Replace(o.Sentence, o.Subject.String()+" ", "it ", 1)
	case o.Does != "":
		v.Effect, v.Text = Continues, o.Does
	case above(o, all) != nil:
		v.Effect, v.Under = Continues, above(o, all)
	case o.State == explain.Progressing:
		v.Effect, v.Text = Continues, says
	case o.State != explain.Healthy:
		v.Effect, v.Text = Watches, says
	}
	return v
}

// above returns the nearest owner whose machines the controllers change, or nil.
func above(o Object, all map[explain.Subject]Object) *explain.Subject {
	for o.Owner != nil {
		owner, known := all[*o.Owner]
		if !known {
			return nil
		}
		if owner.Does != "" {
			return &owner.Subject
		}
		o = owner
	}
	return nil
}

// leases returns a block for each lease that has a holder and has not expired. The holder would act beside
// Millwright, or prevent Millwright from acting.
func leases(now time.Time, all []Lease) (out []Block) {
	for _, l := range all {
		if l.Holder == "" || !now.Before(l.Renewed.Add(l.Lasts)) {
			continue
		}
		out = append(out, Block{
			Reason: ReasonLeaseHeld,
			What:   fmt.Sprintf("%s is at work: %s holds the lease %s, renewed %s ago", l.Leads, l.Holder, l.Where, max(0, now.Sub(l.Renewed)).Round(time.Second)),
			Do:     "scale it to 0 first",
		})
	}
	return out
}

func definitions(all []Definition) (out []Block) {
	if !slices.ContainsFunc(all, func(d Definition) bool { return d.Present }) {
		return []Block{{Reason: ReasonNoDefinition, What: "the cluster has neither of the APIs", Do: "look whether this is the cluster that has the machines"}}
	}
	for _, d := range all {
		switch {
		case !d.Present && d.Needed:
			out = append(out, Block{Reason: ReasonMissing, What: "the cluster has no CRD " + d.Name + ", without which its API is not served", Do: "install it from config/crd"})
		case d.Present && !slices.Contains(d.Serves, d.Wants):
			out = append(out, Block{
				Reason: ReasonVersion, What: fmt.Sprintf("the CRD %s serves %s and not %s, the version that Millwright speaks", d.Name, cmp.Or(strings.Join(d.Serves, ", "), "nothing"), d.Wants),
				Do: "serve that version as well, or wait for a Millwright that speaks the newer one",
			})
		}
	}
	return out
}

// infrastructures returns a block for each infrastructure without a provider.
func infrastructures(f Facts) []Block {
	known := append(slices.Clone(Providers), f.Served...)
	return grouped(f.Objects, func(o Object) []string {
		if o.Infrastructure == "" || slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, o.Infrastructure) }) {
			return nil
		}
		return []string{o.Infrastructure}
	}, func(name string) Block {
		return Block{
			Reason: ReasonProvider, What: fmt.Sprintf("no provider of Millwright serves %q", name),
			Do: "leave its machines to the original, or write a provider (docs/write-a-provider.md) and name it with --serves",
		}
	})
}

func fields(all []Object) []Block {
	return grouped(all, func(o Object) []string { return o.Unknown }, func(path string) Block {
		return Block{
			Reason: ReasonField, What: fmt.Sprintf("Millwright does not know the field %s, and would not do what it asks for", path),
			Do: "the CRD is newer than Millwright: take the field away, or wait for a Millwright that knows it",
		}
	})
}

func authorities(all []Object) []Block {
	return grouped(all, func(o Object) []string {
		if o.Authority == "" {
			return nil
		}
		return []string{o.Authority}
	}, func(name string) Block {
		return Block{Reason: ReasonAuthority, What: name + " is in charge of some objects, which Millwright does not honour", Do: "hand them back first: spec.authoritativeAPI"}
	})
}

// grouped returns one block for each name in the objects, sorted by name.
func grouped(all []Object, names func(Object) []string, block func(name string) Block) (out []Block) {
	about := map[string][]explain.Subject{}
	var order []string
	for _, o := range all {
		for _, name := range names(o) {
			if about[name] == nil {
				order = append(order, name)
			}
			about[name] = append(about[name], o.Subject)
		}
	}
	slices.Sort(order)
	for _, name := range order {
		b := block(name)
		b.Objects = about[name]
		out = append(out, b)
	}
	return out
}
