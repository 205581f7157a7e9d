package remote

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

// Limits of a provider's answers. They are far above what infrastructures have, and prevent a provider that
// never stops from filling the controller's memory.
const (
	// mostMessage is the largest message in bytes, in both directions.
	mostMessage = 16 << 20
	// mostText limits texts for users, mostName all names, in bytes.
	mostText = 8 << 10
	mostName = 2 << 10
	// mostFound is the limit of the instances of one machine, mostListed that of a listing.
	mostFound  = 1000
	mostListed = 1_000_000
	// mostParts limits the addresses and the tags of an instance, its differences, and a session's items of
	// each kind.
	mostParts = 1000
	// mostStatus is the longest provider status in bytes: an object of an API server has room for many
	// times that.
	mostStatus = 64 << 10
)

// lie returns the error for an answer that cannot be right: the outcome is unknown, and the call is
// repeated.
func lie(format string, args ...any) error {
	return provider.Errorf(provider.Transient, "the provider's answer makes no sense: "+format, args...)
}

// short reports whether all texts are short enough for names.
func short(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return len(text) > mostName })
}

// checkInstance returns a reported instance, or why it is invalid.
func checkInstance(w *wire.Instance) (provider.Instance, error) {
	i := toInstance(w)
	named := short(i.ID, i.UID, i.Name, i.Owner, i.Namespace, i.ProviderID, i.NodeName, i.RawState, i.Type, i.Region, i.Zone)
	switch {
	case i.ID == "":
		return i, lie("an instance without an identifier")
	case !named:
		return i, lie("a name of instance %s has more than %d bytes", provider.Clip(i.ID, 100), mostName)
	case i.State == "":
		return i, lie("instance %s is in state %d, which is invalid", i.ID, w.GetState())
	case len(i.Addresses) > mostParts || len(i.Tags) > mostParts:
		return i, lie("instance %s has %d addresses and %d tags", i.ID, len(i.Addresses), len(i.Tags))
	case i.Fault != nil && i.State == provider.Running:
		return i, lie("instance %s has a fault, and runs", i.ID)
	case w.GetCreated() != nil && !w.GetCreated().IsValid():
		return i, lie("instance %s was created at no time", i.ID)
	}
	for _, a := range i.Addresses {
		if !short(string(a.Type), a.Address) {
			return i, lie("an address of instance %s has more than %d bytes", i.ID, mostName)
		}
	}
	for key, value := range i.Tags {
		if !short(key, value) {
			return i, lie("a tag of instance %s has more than %d bytes", i.ID, mostName)
		}
	}
	return i, nil
}

// checkFound returns the instances that were found for ref. A duplicate would count as two instances, one
// of which is deleted; an instance that does not match ref belongs to another machine.
func checkFound(s provider.Session, ref provider.Ref, all []*wire.Instance) ([]provider.Instance, error) {
	if len(all) > mostFound {
		return nil, lie("%d instances of one machine", len(all))
	}
	var out []provider.Instance
	seen := map[string]bool{}
	for _, w := range all {
		i, err := checkInstance(w)
		switch {
		case err != nil:
			return nil, err
		case seen[i.ID]:
			return nil, lie("instance %s twice", i.ID)
		case !concerns(s, ref, i):
			return nil, lie("instance %s, which has neither the UID nor the provider ID of machine %s, nor its name and no UID", i.ID, ref.Name)
		}
		seen[i.ID] = true
		out = append(out, i)
	}
	return out, nil
}

// concerns reports whether an instance may be ref's: [provider.Session].
func concerns(s provider.Session, ref provider.Ref, i provider.Instance) bool {
	return i.UID != "" && i.UID == ref.UID ||
		i.UID == "" && strings.EqualFold(i.Name, ref.Name) ||
		i.ProviderID == ref.ProviderID && ref.ProviderID != "" ||
		provider.SameInstance(s, i.ProviderID, ref.ProviderID)
}

// takeLeftover returns a reported leftover, or why it is invalid.
func takeLeftover(w *wire.Leftover) (l provider.Leftover, ok bool, err error) {
	l = toLeftover(w)
	if l.ID == "" || !short(l.Kind, l.ID, l.UID, l.Name, l.Owner, l.Namespace) {
		return l, false, lie("a leftover without an identifier, or with a name of more than %d bytes", mostName)
	}
	return l, true, nil
}

// checkSize returns a size that nodes can have, or an error.
func checkSize(w *wire.SizeReply) (provider.Size, error) {
	s := toSize(w)
	if min(s.VCPU, s.GPU, s.MemoryMiB, s.MaxPods, s.EphemeralStorageMiB) < 0 {
		return provider.Size{}, lie("less than nothing of a resource")
	}
	if len(s.Labels) > mostParts || len(s.Taints) > mostParts || !short(s.Architecture, string(s.GPUResource)) {
		return provider.Size{}, lie("%d labels and %d taints of a node", len(s.Labels), len(s.Taints))
	}
	for key, value := range s.Labels {
		if !labelled(key, value) {
			return provider.Size{}, lie("the label %q=%q", provider.Clip(key, 100), provider.Clip(value, 100))
		}
	}
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	for _, t := range s.Taints {
		if !labelled(t.Key, t.Value) || !slices.Contains(effects, t.Effect) {
			return provider.Size{}, lie("the taint %q=%q:%q", provider.Clip(t.Key, 100), provider.Clip(t.Value, 100), provider.Clip(string(t.Effect), 100))
		}
	}
	return s, nil
}

func labelled(key, value string) bool {
	return len(validation.IsQualifiedName(key)) == 0 && len(validation.IsValidLabelValue(value)) == 0
}

// checkStatus returns a provider status that the API can store, or an error.
func checkStatus(api string, status []byte) ([]byte, error) {
	switch {
	case len(status) > mostStatus:
		return nil, lie("a provider status of %d bytes", len(status))
	case api == provider.OpenShift && status != nil && !json.Valid(status):
		return nil, lie("a provider status that is no JSON")
	case !utf8.Valid(status):
		return nil, lie("a provider status that is no text")
	}
	return status, nil
}

// identity reads provider IDs.
type identity struct {
	pattern *regexp.Regexp
	name    string
	fold    bool
}

// checkIdentities compiles the identities. The expressions are those of RE2, whose time is linear in the
// text.
func checkIdentities(all []*wire.Identity) ([]identity, error) {
	if len(all) > 100 {
		return nil, lie("%d ways to read provider IDs", len(all))
	}
	var out []identity
	for _, w := range all {
		if !short(w.GetPattern(), w.GetName()) {
			return nil, lie("a pattern of provider IDs of more than %d bytes", mostName)
		}
		pattern, err := regexp.Compile(`^(?:` + w.GetPattern() + `)$`)
		if err != nil {
			return nil, lie("a pattern of provider IDs: %w", err)
		}
		out = append(out, identity{pattern: pattern, name: w.GetName(), fold: w.GetFoldCase()})
	}
	return out, nil
}

// read returns the identity of providerID by the first pattern that matches; empty if none does.
func read(all []identity, providerID string) string {
	for _, i := range all {
		match := i.pattern.FindStringSubmatchIndex(providerID)
		if match == nil {
			continue
		}
		name := string(i.pattern.ExpandString(nil, i.name, providerID, match))
		if i.fold {
			name = strings.ToLower(name)
		}
		return name
	}
	return ""
}

// checkChoices returns choices, which must be distinct.
func checkChoices(all []*wire.Choice) ([]provider.Choice, error) {
	if len(all) > mostParts {
		return nil, lie("%d choices", len(all))
	}
	out, seen := each(all, toChoice), map[string]bool{}
	for n, c := range out {
		switch {
		case c.Name == "" || seen[c.Name] || !short(c.Name, c.Region, c.Zone, c.Type):
			return nil, lie("choice %d has no name of its own", n+1)
		case c.Equal && (n == 0 || c.Zone == "" || out[n-1].Zone == ""):
			return nil, lie("choice %q is as good as none before it, or of no zone", c.Name)
		}
		seen[c.Name] = true
	}
	return out, nil
}

// checkName refuses a provider with another name than the expected one.
func checkName(want, got string) error {
	if want != got {
		return fmt.Errorf("the provider calls itself %q and not %q: is this its address?", provider.Clip(got, 100), want)
	}
	return nil
}
