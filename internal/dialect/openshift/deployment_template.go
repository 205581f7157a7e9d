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

// rolling is the part of a template that cannot be changed in place. The rest is changed in place, or applies
// to new machines.
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

// authority fills in the default of an absent field: servers of some versions do the same.
func authority(a machinev1.MachineAuthority) machinev1.MachineAuthority {
	return cmp.Or(a, machinev1.MachineAuthorityMachineAPI)
}

// decoded returns a document by value: documents that differ in the order of keys, in the form of numbers or
// in null fields are equal. A document that cannot be decoded equals only itself.
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

// number gives equal numbers the same form: 1, 1.0 and 1e0. Integers keep all their digits.
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

// isCurrent reports whether machines of s match the template of d. The template is compared, never only a
// hash, so that another hash algorithm replaces no machine. A set that was created from this template stays
// current if another component only filled in defaults.
func isCurrent(d *v1beta1.MachineDeployment, s *machinev1.MachineSet) bool {
	want, have := rollingOf(&d.Spec.Template), rollingOf(&s.Spec.Template)
	if equality.Semantic.DeepEqual(want, have) {
		return true
	}
	made := s.Annotations[TemplateAnnotation]
	return made != "" && made == want.fingerprint() && have.completes(want)
}

// completes reports whether r has all fields of other, and possibly more of the provider's.
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

// bytes returns r in one fixed form: keys are sorted.
func (r rolling) bytes() []byte {
	raw, _ := json.Marshal(r) // it came from json.Unmarshal
	return raw
}

// fingerprint returns the identifier of r in an annotation.
func (r rolling) fingerprint() string {
	h := fnv.New64a()
	_, _ = h.Write(r.bytes())
	return fmt.Sprintf("%016x", h.Sum64())
}

// alphabet is that of the API server for generated names: without vowels it forms no words.
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

// templateHash distinguishes the sets of d, in seven characters that follow from the fields that replace
// machines and from how often another owner's set had the name.
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

// setName returns a name in the form of the API server's generated names, with the first characters of the
// hash instead of random ones.
func setName(deployment, hash string) string {
	return dialect.MachineName(deployment, hash[:min(len(hash), dialect.SuffixLength)])
}

// follow copies to the template of s all fields of d's that replace no machine. Labels that the set's own
// selector requires stay.
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

// followedLabels returns the labels of new machines; nil if the set would not select its machines by them.
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
