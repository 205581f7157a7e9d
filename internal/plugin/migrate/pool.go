package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/plugin/infrastructures"
)

// Pool has the content of a machine set, and of its machine class, that both APIs have.
type Pool struct {
	Namespace, Name           string
	Replicas, MinReadySeconds int32
	Selector                  metav1.LabelSelector
	// Labels and Annotations are those of the set's machines, NodeLabels, NodeAnnotations and Taints those of their nodes.
	Labels, Annotations         map[string]string
	NodeLabels, NodeAnnotations map[string]string
	Taints                      []corev1.Taint
	Infrastructure              infrastructures.Infrastructure
	// Spec is the provider spec in the form of its API, without its type and without the names of Secrets.
	Spec map[string]any
	// UserData and Credentials are names of Secrets in the namespace; may be empty.
	UserData, Credentials string
	// Cluster is the scope in which the infrastructure lists the instances.
	Cluster string
	// Lost are the settings that the other API does not have, for users.
	Lost []string
}

// half is one of the two APIs.
type half interface {
	// api returns the row of the table of APIs.
	api() apis.API
	newSet() client.Object
	newMachines() client.ObjectList
	// pool reads the set, and its class.
	pool(ctx context.Context, r client.Reader, set client.Object) (Pool, error)
	build() builder
	// held reports whether the set may not create machines, and hold changes that.
	held(set client.Object) bool
	hold(set client.Object, on bool)
	// counts returns the wanted number of machines, and the number of ready machines that the controller has counted.
	counts(set client.Object) (wanted, ready int32)
}

// builder builds the objects of an API.
type builder interface {
	// class and set return the objects of a pool; class returns nil if the API has no classes.
	class(p Pool) client.Object
	set(p Pool) client.Object
	// machine returns a Machine of the set, without owner and annotations.
	machine(p Pool, name, providerID string) client.Object
}

// halves are both APIs, by their names.
var halves = map[string]half{openshift{}.api().Name: openshift{}, gardener{}.api().Name: gardener{}}

// other returns the other API.
func other(h half) half {
	for _, o := range halves {
		if o.api().Name != h.api().Name {
			return o
		}
	}
	return nil
}

// translated returns the pool with the provider spec in the form of the other API.
func (p Pool) translated(to half) (Pool, error) {
	c, known := converters[p.Infrastructure.Name]
	if !known {
		return p, fmt.Errorf("provider specs of %s cannot be converted yet", p.Infrastructure.Name)
	}
	convert := c.toGardener
	if to.api().Name == (openshift{}).api().Name {
		convert = func(spec map[string]any) (map[string]any, error) {
			spec, err := c.toOpenShift(spec)
			if err != nil {
				return nil, err
			}
			return spec, c.putSecrets(maps.Clone(spec), p.UserData, p.Credentials) // whether the spec can name them
		}
	}
	spec, err := convert(p.Spec)
	if err != nil {
		return p, fmt.Errorf("convert the provider spec: %w", err)
	}
	p.Spec = spec
	return p, nil
}

// typed returns a provider spec with its type.
func typed(spec map[string]any, t infrastructures.Type) map[string]any {
	out := maps.Clone(spec)
	if t.Kind != "" {
		out["apiVersion"], out["kind"] = t.APIVersion, t.Kind
	}
	return out
}

// decoded decodes a provider spec, and removes its type.
func decoded(raw []byte) (spec map[string]any, kind string, err error) {
	if err := json.Unmarshal(raw, &spec); err != nil {
		return nil, "", fmt.Errorf("decode the provider spec: %w", err)
	}
	kind, _ = spec["kind"].(string)
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		delete(spec, key)
	}
	return spec, kind, nil
}

func encoded(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil { // only values that were decoded from JSON
		panic(err)
	}
	return raw
}

// foreignMetadata are the prefixes of labels and annotations that controllers and kubectl write on a Machine for themselves.
var foreignMetadata = []string{"machine.openshift.io/", "machine.sapcloud.io/", "node.machine.sapcloud.io/", "millwright.dev/", "kubectl.kubernetes.io/"}

// usersOwn returns the entries that users wrote.
func usersOwn(in map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range in {
		foreign := key == "node"
		for _, prefix := range foreignMetadata {
			foreign = foreign || strings.HasPrefix(key, prefix)
		}
		if !foreign {
			out[key] = value
		}
	}
	return out
}

// successor returns the Machine of the other API for an existing one.
func successor(p Pool, to half, from client.Object, view lifecycle.Machine, owner client.Object) client.Object {
	m := to.build().machine(p, from.GetName(), view.Recorded.ProviderID)
	labels := usersOwn(from.GetLabels())
	maps.Copy(labels, m.GetLabels())
	m.SetLabels(labels)
	annotations := usersOwn(from.GetAnnotations())
	if o := view.Recorded.Origin; o != nil {
		annotations[millwright.Origin] = string(encoded(o))
	}
	m.SetAnnotations(annotations)
	api, _ := apis.Of(to.api().Name)
	m.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: api.Name + "/" + api.Version, Kind: "MachineSet", Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true),
	}})
	return m
}

// movedTo returns the value of the mark of a Machine whose instance the Machine of the same name of an API takes over.
func movedTo(to half, m client.Object) string {
	return apis.MachineRef{API: to.api().Name, Key: client.ObjectKeyFromObject(m)}.String()
}
