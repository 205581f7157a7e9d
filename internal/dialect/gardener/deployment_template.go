package gardener

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// sameTemplate reports whether the two templates are equal in all fields whose change requires a new machine.
// The current set is recognized in this way, by its template and never by a hash, so that sets of another
// implementation, or of an older version of this one, are recognized as well.
func sameTemplate(a, b *v1alpha1.MachineTemplateSpec) bool {
	return equality.Semantic.DeepEqual(rolling(a), rolling(b))
}

// rolling returns the part of a template that cannot be changed in place: its metadata without the hash, name
// and API group of the class, and the provider ID. It shares memory with t.
func rolling(t *v1alpha1.MachineTemplateSpec) *v1alpha1.MachineTemplateSpec {
	out := *t
	out.Labels = without(t.Labels, v1alpha1.LabelKeyMachineTemplateHash)
	out.Spec.Class.Kind = ""
	out.Spec.NodeTemplateSpec = v1alpha1.NodeTemplateSpec{}
	out.Spec.MachineConfiguration = nil
	return &out
}

// follow copies to the template t all fields of from that can be changed in place.
func follow(t, from *v1alpha1.MachineTemplateSpec) {
	t.Spec.Class.Kind = from.Spec.Class.Kind
	t.Spec.NodeTemplateSpec = *from.Spec.NodeTemplateSpec.DeepCopy()
	t.Spec.MachineConfiguration = from.Spec.MachineConfiguration.DeepCopy()
}

func without(m map[string]string, key string) map[string]string {
	if _, ok := m[key]; !ok {
		return m
	}
	m = maps.Clone(m)
	delete(m, key)
	return m
}

// templateHash distinguishes the sets of d and their machines, as a decimal number of 32 bits. It follows
// from the fields that replace machines and from how often another owner's set had the name. Another
// algorithm would only give future sets other names.
func templateHash(d *v1alpha1.MachineDeployment) string {
	h := fnv.New32a()
	// Marshalling sorts the keys of maps and omits empty fields. A template from an API server can always be
	// marshalled.
	raw, _ := json.Marshal(rolling(&d.Spec.Template))
	_, _ = h.Write(raw)
	if n := d.Status.CollisionCount; n != nil {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(*n)))
	}
	return strconv.FormatUint(uint64(h.Sum32()), 10)
}

// maxSetName is the longest name of an object.
const maxSetName = 253

// setName returns the deployment's name with five characters that follow from the hash.
func setName(d *v1alpha1.MachineDeployment, hash string) string {
	suffix := rand.SafeEncodeString(hash)
	suffix = "-" + suffix[:min(len(suffix), dialect.SuffixLength)]
	return d.Name[:min(len(d.Name), maxSetName-len(suffix))] + suffix
}
