// Package operator does the work of the baremetal-operator in a real API server: package host computes the changes of
// hosts.
package operator

import (
	"context"
	_ "embed" // the CRD
	"encoding/json"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/dev/clouds/metal3/host"
)

// CRD is the CRD of BareMetalHosts, as YAML, with the used fields. It preserves other fields.
//
//go:embed crd.yaml
var CRD []byte

// Run reconciles all hosts repeatedly until ctx ends. report gets errors; the next round retries.
func Run(ctx context.Context, c client.Client, k host.Knobs, report func(error)) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if err := Step(ctx, c, now, k); err != nil && ctx.Err() == nil {
				report(err)
			}
		}
	}
}

// Step moves each host one step further.
func Step(ctx context.Context, c client.Client, now time.Time, k host.Knobs) error {
	all := &unstructured.UnstructuredList{}
	all.SetAPIVersion("metal3.io/v1alpha1")
	all.SetKind("BareMetalHostList")
	if err := c.List(ctx, all); err != nil {
		return err
	}
	var errs []error
	for i := range all.Items {
		// Another client may have written it since it was listed.
		if err := step(ctx, c, &all.Items[i], now, k); !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func step(ctx context.Context, c client.Client, o *unstructured.Unstructured, now time.Time, k host.Knobs) error {
	raw, err := json.Marshal(o.Object)
	if err != nil {
		return err
	}
	before, err := host.Read(raw)
	if err != nil {
		return err
	}
	after := host.Next(before, now, k)
	metadata, status := host.Changed(before, after)
	if status {
		was := o.DeepCopy()
		if o.Object["status"], err = runtime.DefaultUnstructuredConverter.ToUnstructured(&after.Status); err != nil {
			return err
		}
		if err := c.Status().Patch(ctx, o, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})); err != nil {
			return err
		}
	}
	if !metadata {
		return nil
	}
	was := o.DeepCopy()
	o.SetAnnotations(after.Annotations)
	o.SetFinalizers(after.Finalizers)
	return c.Patch(ctx, o, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}))
}
