package openshift

import (
	"context"
	"fmt"
	"iter"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/provider"
)

// List implements [provider.Session]. Actuators have no listing: List returns the instances of the machines
// of earlier calls. For a machine that exists it returns the last answer, without a UID once that answer is
// old, so that the engine reads the instance again. For a machine that was deleted it asks the actuator.
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		uids := s.memory.in(s.class.Cluster)
		living, err := s.liveMachines(ctx, uids)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		for _, uid := range uids {
			k := s.memory.of(uid)
			if k.machine == nil {
				continue // it was forgotten meanwhile
			}
			found, err := s.listed(ctx, k, living[k.machine.UID])
			if err != nil {
				yield(provider.Instance{}, err)
				return
			}
			for _, i := range found {
				if !yield(i, nil) {
					return
				}
			}
		}
	}
}

// fresh is the maximum age of an answer that needs no new call.
const fresh = 10 * time.Second

// liveMachines are the UIDs of all machines in the namespaces of the given ones, from a cache of the API
// server.
func (s *session) liveMachines(ctx context.Context, uids []string) (map[types.UID]bool, error) {
	all, read := map[types.UID]bool{}, map[string]bool{}
	for _, uid := range uids {
		m := s.memory.of(uid).machine
		if m == nil || read[m.Namespace] {
			continue
		}
		read[m.Namespace] = true
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(machinev1.GroupVersion.WithKind("MachineList"))
		cached := &client.ListOptions{Namespace: m.Namespace, Raw: &metav1.ListOptions{ResourceVersion: "0"}}
		if err := s.config.Machines.List(ctx, list, cached); err != nil {
			return nil, fmt.Errorf("list the machines: %w", err)
		}
		for _, one := range list.Items {
			all[one.UID] = true
		}
	}
	return all, nil
}

// listed returns the instances of a machine for the listing.
func (s *session) listed(ctx context.Context, k known, lives bool) ([]provider.Instance, error) {
	ref := provider.Ref{UID: string(k.machine.UID), Namespace: k.machine.Namespace, Name: k.machine.Name, ProviderID: ptr.Deref(k.machine.Spec.ProviderID, "")}
	if lives {
		i := s.instance(ref, k)
		if s.config.Clock.Since(k.at) > fresh {
			i.UID = ""
		}
		return []provider.Instance{i}, nil
	}
	found, err := s.Find(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("read the instance of machine %s/%s, which was deleted: %w", ref.Namespace, ref.Name, err)
	}
	if len(found) == 0 && s.config.Clock.Since(k.made) >= s.config.ReadLag {
		s.memory.forget(ref.UID)
	}
	for n := range found {
		found[n].UID, found[n].Namespace, found[n].Owner = ref.UID, ref.Namespace, s.class.Owner // the machine was this control plane's
	}
	return found, nil
}
