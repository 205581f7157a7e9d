package statemetrics

import (
	"context"
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// place is what machines are counted by.
type place struct{ namespace, zone, instanceType, phase string }

// OpenShiftPlaces are the numbers of Machines of machine.openshift.io that a provider's controller manages, by
// namespace, zone, type and phase: metrics of the originals have none of these but the phase. Zone and type are
// in the labels of these names.
func OpenShiftPlaces(providerName, zoneLabel, typeLabel string) Kind {
	return placesOf(machinev1.GroupVersion.Group, providerName, func(ctx context.Context, from client.Reader) (map[place]int, error) {
		return openshiftPlaces(ctx, from, zoneLabel, typeLabel)
	})
}

// GardenerPlaces are those of machine.sapcloud.io.
func GardenerPlaces(providerName string) Kind {
	return placesOf(v1alpha1.GroupVersion.Group, providerName, gardenerPlaces)
}

func placesOf(api, providerName string, count func(context.Context, client.Reader) (map[place]int, error)) Kind {
	desc := prometheus.NewDesc("millwright_machines", "Machines by zone, type of instance and phase.",
		[]string{"namespace", "zone", "instance_type", "phase"}, prometheus.Labels{"api": api, "provider": providerName})
	return Kind{
		name: "places of machines of " + api, descs: []*prometheus.Desc{desc},
		collect: func(ctx context.Context, from client.Reader, to chan<- prometheus.Metric) error {
			counted, err := count(ctx, from)
			for p, n := range counted {
				gauge(to, desc, float64(n), p.namespace, p.zone, p.instanceType, p.phase)
			}
			return err
		},
	}
}

func openshiftPlaces(ctx context.Context, from client.Reader, zoneLabel, typeLabel string) (map[place]int, error) {
	var all machinev1.MachineList
	if err := from.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	out := map[place]int{}
	for m := range dialect.Items[*machinev1.Machine](&all) {
		out[place{m.Namespace, m.Labels[zoneLabel], m.Labels[typeLabel], ptr.Deref(m.Status.Phase, "")}]++
	}
	return out, nil
}

// gardenerPlaces takes zone and type from the nodeTemplate of the machine's class.
func gardenerPlaces(ctx context.Context, from client.Reader) (map[place]int, error) {
	var classes v1alpha1.MachineClassList
	var all v1alpha1.MachineList
	if err := from.List(ctx, &classes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list machine classes: %w", err)
	}
	if err := from.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	templates := map[types.NamespacedName]*v1alpha1.NodeTemplate{}
	for c := range dialect.Items[*v1alpha1.MachineClass](&classes) {
		templates[client.ObjectKeyFromObject(c)] = c.NodeTemplate
	}
	out := map[place]int{}
	for m := range dialect.Items[*v1alpha1.Machine](&all) {
		p := place{namespace: m.Namespace, phase: string(m.Status.CurrentStatus.Phase)}
		if t := templates[types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.Class.Name}]; t != nil {
			p.zone, p.instanceType = t.Zone, t.InstanceType
		}
		out[p]++
	}
	return out, nil
}
