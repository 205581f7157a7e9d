// Package record reads the objects of an API server and the instances of an infrastructure into the events that the checker
// judges.
package record

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/checker"
)

// Tokens are the secrets that include bootstrap tokens.
var Tokens = corev1.SchemeGroupVersion.WithKind("Secret")

// kinds are the kinds of a fleet.
var kinds = []schema.GroupVersionKind{
	{Group: "machine.openshift.io", Version: "v1beta1", Kind: "MachineDeployment"},
	{Group: "machine.openshift.io", Version: "v1beta1", Kind: "MachineSet"},
	{Group: "machine.openshift.io", Version: "v1beta1", Kind: "Machine"},
	{Group: "machine.sapcloud.io", Version: "v1alpha1", Kind: "MachineDeployment"},
	{Group: "machine.sapcloud.io", Version: "v1alpha1", Kind: "MachineSet"},
	{Group: "machine.sapcloud.io", Version: "v1alpha1", Kind: "Machine"},
	corev1.SchemeGroupVersion.WithKind("Node"),
}

// Objects lists the deployments, sets and machines of both APIs, the nodes, and objects of further kinds, one list after the
// other.
func Objects(ctx context.Context, c client.Reader, more ...schema.GroupVersionKind) (events []checker.Event, err error) {
	for _, kind := range append(kinds[:len(kinds):len(kinds)], more...) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(ctx, list); err != nil {
			return nil, fmt.Errorf("list objects of kind %s: %w", kind.Kind, err)
		}
		w := checker.Write{Begun: time.Now(), Verb: "list", Group: kind.Group, Resource: strings.ToLower(kind.Kind) + "s", Code: 200}
		raw, err := json.Marshal(list.Items)
		if err == nil {
			err = json.Unmarshal(raw, &w.Items)
		}
		if err != nil {
			return nil, fmt.Errorf("read objects of kind %s: %w", kind.Kind, err)
		}
		events = append(events, w.Event())
	}
	return events, nil
}
