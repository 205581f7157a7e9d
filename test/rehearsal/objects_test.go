package rehearsal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/examples"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// pool is a deployment or a set of machines of one API.
type pool struct {
	*unstructured.Unstructured
	replicas int
	// other: its machines are in the second account.
	other bool
}

// healthTimeout is how long a node of a pool may be silent.
const healthTimeout = "10s"

// samples returns the objects of the examples of the cloud, with credentials of the simulator.
func (s *story) samples() (all []*unstructured.Unstructured) {
	s.t.Helper()
	issued, err := os.ReadFile(filepath.Join(fleet.CloudDir(s.fleet.Dir), "manifests.yaml"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	documents := [][]byte{issued}
	for _, file := range (fleet.CloudOptions{Provider: s.cloud}).Samples() {
		raw, err := examples.FS.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		documents = append(documents, raw)
	}
	for _, raw := range documents {
		for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
			o := &unstructured.Unstructured{}
			err := decoder.Decode(&o.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				s.t.Fatal(err)
			}
			all = append(all, o)
		}
	}
	return all
}

// deployed returns samples with deployments instead of sets, so that they can be rolled.
func deployed(samples []*unstructured.Unstructured) []*unstructured.Unstructured {
	for _, o := range samples {
		if o.GetKind() == "MachineSet" {
			deploy(o)
		}
	}
	return samples
}

// deploy returns a deployment with the template of a set.
func deploy(o *unstructured.Unstructured) {
	o.SetKind("MachineDeployment")
	spec := o.Object["spec"].(map[string]any)
	spec["strategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(2), "maxUnavailable": int64(1)}}
	if !openShift(o) {
		template := spec["template"].(map[string]any)["spec"].(map[string]any)
		template["healthTimeout"] = healthTimeout
	}
}

func openShift(o *unstructured.Unstructured) bool {
	return strings.Contains(o.GetAPIVersion(), "openshift")
}

// check returns a health check for machines of machine.openshift.io, which have no timeouts of their own.
const check = `
apiVersion: machine.openshift.io/v1beta1
kind: MachineHealthCheck
metadata: {name: workers, namespace: openshift-machine-api}
spec:
  maxUnhealthy: 100%%
  nodeStartupTimeout: 10m
  selector: {matchLabels: {machine.openshift.io/cluster-api-machine-role: worker}}
  unhealthyConditions:
  - {type: Ready, status: Unknown, timeout: %[1]s}
  - {type: Ready, status: "False", timeout: %[1]s}
`

// apply creates objects, and remembers the pools among them.
func (s *story) apply(replicas int, other bool, all []*unstructured.Unstructured) {
	s.t.Helper()
	for _, o := range all {
		if spec, _ := o.Object["spec"].(map[string]any); spec["replicas"] != nil {
			spec["replicas"] = int64(replicas)
			s.pools = append(s.pools, &pool{Unstructured: o.DeepCopy(), replicas: replicas, other: other})
		}
		if err := s.fleet.Client.Create(s.t.Context(), o); err != nil {
			s.t.Fatalf("%s: create %s %s: %v", s.chapter, o.GetKind(), o.GetName(), err)
		}
	}
}

// elsewhere returns samples with other credentials and other names.
func elsewhere(all []*unstructured.Unstructured, replaced map[string]string) []*unstructured.Unstructured {
	names := map[string]bool{}
	for _, o := range all {
		names[o.GetName()] = true
	}
	credentials := replacer(replaced)
	rename := func(text string) string {
		if names[text] {
			return text + "-other"
		}
		return credentials(text)
	}
	for _, o := range all {
		for field, value := range o.Object {
			if field != "kind" && field != "apiVersion" {
				o.Object[field] = walk(value, rename, o.GetKind() == "Secret")
			}
		}
	}
	return all
}

// replacer replaces texts, the longest first.
func replacer(replaced map[string]string) func(string) string {
	var pairs []string
	for _, was := range slices.SortedFunc(maps.Keys(replaced), func(a, b string) int { return len(b) - len(a) }) {
		pairs = append(pairs, was, replaced[was])
	}
	return strings.NewReplacer(pairs...).Replace
}

// walk changes all texts in a value, and if keys is true the keys of maps as well.
func walk(v any, change func(string) string, keys bool) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		out := make([]any, len(v))
		for n := range v {
			out[n] = walk(v[n], change, keys)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			to := key
			if keys {
				to = change(key)
			}
			out[to] = walk(v[key], change, keys)
		}
		return out
	}
	return v
}

// rotate writes the new credentials of the simulator into the secrets of the samples.
func (s *story) rotate(replaced map[string]string) {
	s.t.Helper()
	change := replacer(replaced)
	for _, o := range s.samples() {
		if o.GetKind() != "Secret" {
			continue
		}
		secret := &corev1.Secret{}
		if err := s.fleet.Client.Get(s.t.Context(), client.ObjectKeyFromObject(o), secret); err != nil {
			s.t.Fatal(err)
		}
		for key, value := range secret.Data {
			secret.Data[key] = []byte(change(string(value)))
		}
		if err := s.fleet.Client.Update(s.t.Context(), secret); err != nil {
			s.t.Fatal(err)
		}
	}
}

// change changes the template of a pool. Its machines get another class, or other user data, because all clouds have these.
func (s *story) change(p *pool) {
	s.t.Helper()
	if openShift(p.Unstructured) {
		secret := &corev1.Secret{}
		key := client.ObjectKey{Namespace: p.GetNamespace(), Name: fleet.UserDataSecret}
		if err := s.fleet.Client.Get(s.t.Context(), key, secret); err != nil {
			s.t.Fatal(err)
		}
		next := &corev1.Secret{Data: secret.Data}
		next.Namespace, next.Name = key.Namespace, key.Name+"-next"
		if err := s.fleet.Client.Create(s.t.Context(), next); err != nil {
			s.t.Fatal(err)
		}
		value, _, err := unstructured.NestedMap(p.Object, "spec", "template", "spec", "providerSpec", "value")
		if err != nil {
			s.t.Fatal(err)
		}
		raw, err := json.Marshal(walk(value, func(text string) string { // the field has different names in the specs
			if text == key.Name {
				return next.Name
			}
			return text
		}, false))
		if err != nil {
			s.t.Fatal(err)
		}
		s.patch(p.Unstructured, fmt.Sprintf(`{"spec":{"template":{"spec":{"providerSpec":{"value":%s}}}}}`, raw))
		return
	}
	for _, o := range s.samples() {
		if o.GetKind() == "MachineClass" {
			o.SetName(o.GetName() + "-next")
			if err := s.fleet.Client.Create(s.t.Context(), o); err != nil {
				s.t.Fatal(err)
			}
			s.patch(p.Unstructured, fmt.Sprintf(`{"spec":{"template":{"spec":{"class":{"name":%q}}}}}`, o.GetName()))
		}
	}
}

func (s *story) scale(p *pool, replicas int) {
	s.t.Helper()
	p.replicas = replicas
	s.patch(p.Unstructured, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

// patch changes the present version of an object.
func (s *story) patch(o client.Object, merge string) {
	s.t.Helper()
	into := o.DeepCopyObject().(client.Object)
	if err := s.fleet.Client.Patch(s.t.Context(), into, client.RawPatch("application/merge-patch+json", []byte(merge))); err != nil {
		s.t.Fatalf("%s: change %s: %v", s.chapter, o.GetName(), err)
	}
}

// serviceAccount creates the service account that pods need, if it does not exist.
func serviceAccount() *corev1.ServiceAccount {
	a := &corev1.ServiceAccount{}
	a.Namespace, a.Name = "default", "default"
	return a
}

func selector(labels map[string]string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labels}
}
