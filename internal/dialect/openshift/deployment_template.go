package openshift

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// rolling is what of a template cannot be changed on a living machine. All
// else is handed over in place, or is for machines to come.
type rolling struct {
	// ProviderSpec is the decoded value, in the form that canonical gives it.
	ProviderSpec any                        `json:"providerSpec,omitempty"`
	ProviderID   string                     `json:"providerID,omitempty"`
	Authority    machinev1.MachineAuthority `json:"authoritativeAPI,omitempty"`
}

func rollingOf(t *machinev1.MachineTemplateSpec) rolling {
	out := rolling{ProviderID: ptr.Deref(t.Spec.ProviderID, ""), Authority: authority(t.Spec.AuthoritativeAPI)}
	if v := t.Spec.ProviderSpec.Value; v != nil {
		out.ProviderSpec = decoded(v.Raw)
	}
	return out
}

// authority fills in what an absent field says: servers of some versions do.
func authority(a machinev1.MachineAuthority) machinev1.MachineAuthority {
	return cmp.Or(a, machinev1.MachineAuthorityMachineAPI)
}

// decoded is a document by value: two that differ in the order of keys, in the
// form of numbers or in fields that are null are the same. What cannot be
// decoded is only like itself.
func decoded(raw []byte) any {
	if len(raw) == 0 {
		return nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return string(raw)
	}
	return canonical(v)
}

func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if v[key] = canonical(e); v[key] == nil {
				delete(v, key)
			}
		}
	case []any:
		for i, e := range v {
			v[i] = canonical(e)
		}
	case json.Number:
		return number(v)
	}
	return v
}

// number spells equal numbers alike: 1, 1.0 and 1e0. Integers keep all their
// digits.
func number(n json.Number) json.Number {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return json.Number(strconv.FormatInt(i, 10))
	}
	f, err := n.Float64()
	switch {
	case err != nil:
		return n
	case f == math.Trunc(f) && math.Abs(f) < 1<<63:
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// isCurrent reports whether machines of s are what d asks for. That is told by
// what is in the template, never by a hash alone, so that another way of
// making hashes replaces no machine. A set made from this very template stays
// current where somebody only filled in defaults.
func isCurrent(d *v1beta1.MachineDeployment, s *machinev1.MachineSet) bool {
	want, have := rollingOf(&d.Spec.Template), rollingOf(&s.Spec.Template)
	if equality.Semantic.DeepEqual(want, have) {
		return true
	}
	made := s.Annotations[TemplateAnnotation]
	return made != "" && made == want.fingerprint() && have.completes(want)
}

// completes reports whether r says all that other says, and maybe more of the
// provider's.
func (r rolling) completes(other rolling) bool {
	return r.ProviderID == other.ProviderID && r.Authority == other.Authority && completes(r.ProviderSpec, other.ProviderSpec)
}

func completes(more, less any) bool {
	switch less := less.(type) {
	case map[string]any:
		m, ok := more.(map[string]any)
		for key, e := range less {
			ok = ok && completes(m[key], e)
		}
		return ok
	case []any:
		m, ok := more.([]any)
		ok = ok && len(m) == len(less)
		for i, e := range less {
			ok = ok && completes(m[i], e)
		}
		return ok
	}
	return equality.Semantic.DeepEqual(more, less)
}

// bytes are r in one fixed form: keys are sorted.
func (r rolling) bytes() []byte {
	raw, _ := json.Marshal(r) // it came out of json.Unmarshal
	return raw
}

// fingerprint names r in an annotation.
func (r rolling) fingerprint() string {
	h := fnv.New64a()
	_, _ = h.Write(r.bytes())
	return fmt.Sprintf("%016x", h.Sum64())
}

// alphabet is the API server's own for generated names: no vowels, no words.
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

// templateHash tells the sets of d apart, in seven characters that follow from
// what rolls machines and from how often a name was taken by a foreign set.
func templateHash(d *v1beta1.MachineDeployment) string {
	h := fnv.New32a()
	_, _ = h.Write(rollingOf(&d.Spec.Template).bytes())
	if n := d.Status.CollisionCount; n != nil {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(*n)))
	}
	const digits = 7 // 27^7 > 2^32
	out, rest := make([]byte, digits), h.Sum32()
	for i := range out {
		out[i] = alphabet[rest%uint32(len(alphabet))]
		rest /= uint32(len(alphabet))
	}
	return string(out)
}

// setName is made as the API server makes names, with the first characters of
// the hash where it has random ones.
func setName(deployment, hash string) string {
	return dialect.MachineName(deployment, hash[:min(len(hash), dialect.SuffixLength)])
}

// follow brings the template of s in step with d's in all that rolls no
// machine. Labels that the set's own selector asks for stay.
func follow(s *machinev1.MachineSet, from *machinev1.MachineTemplateSpec) {
	t := &s.Spec.Template
	if l := followedLabels(s, from.Labels); l != nil {
		t.Labels = l
	}
	t.Annotations = maps.Clone(from.Annotations)
	t.Spec.ObjectMeta = *from.Spec.ObjectMeta.DeepCopy()
	t.Spec.Taints = slices.Clone(from.Spec.Taints)
	t.Spec.LifecycleHooks = *from.Spec.LifecycleHooks.DeepCopy()
}

// followedLabels are those of machines to come; nil where the set would not
// know its machines by them.
func followedLabels(s *machinev1.MachineSet, from map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, from)
	maps.Copy(out, s.Spec.Selector.MatchLabels)
	selector, err := metav1.LabelSelectorAsSelector(&s.Spec.Selector)
	if err != nil || !selector.Matches(labels.Set(out)) {
		return nil
	}
	return out
}
