package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirt "kubevirt.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// Delete implements [provider.Session]: it deletes virtual machines first, and after their end their
// dependants.
func (s *session) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	done, err := deleter{call{s, c}, ref, given}.delete(ctx)
	if err != nil {
		return false, fmt.Errorf("delete the virtual machines and dependants of %s: %w", ref.Name, s.observe(err))
	}
	return done, nil
}

// deleter deletes the virtual machines and dependants of one machine.
type deleter struct {
	call
	ref   provider.Ref
	given []provider.Instance
}

func (d deleter) delete(ctx context.Context) (done bool, err error) {
	left, err := d.deleteMachines(ctx)
	if err != nil || left > 0 {
		return false, err
	}
	if left, err = d.deleteDependants(ctx); err != nil || left > 0 {
		return false, err
	}
	return true, d.deleteIgnition(ctx)
}

// deleteMachines deletes the virtual machines with ref's UID and the given ones, and counts the remaining
// ones.
func (d deleter) deleteMachines(ctx context.Context) (left int, err error) {
	there := map[string]*kubevirt.VirtualMachine{}
	if d.ref.UID != "" {
		found, err := d.withUID(ctx, d.ref.UID)
		if err != nil {
			return 0, err
		}
		for _, v := range found {
			there[v.Name] = v
		}
	}
	for _, i := range d.given {
		if _, listed := there[i.ID]; listed {
			continue
		}
		v, err := virtualMachines.Get(ctx, d.client, d.client.Namespace, i.ID)
		if err != nil {
			return 0, err
		}
		// A virtual machine of another Machine may have the name by now.
		if v != nil && d.owns(v.ObjectMeta) && marksOn(v.ObjectMeta).UID == i.UID {
			there[v.Name] = v
		}
	}
	for _, name := range sortedKeys(there) {
		left++
		if there[name].DeletionTimestamp != nil {
			continue
		}
		if err := virtualMachines.Remove(ctx, d.client, d.client.Namespace, name, there[name].UID); err != nil {
			return left, err
		}
	}
	return left, nil
}

// uids are the UIDs whose dependants may have to be deleted.
func (d deleter) uids() (all []string) {
	for _, i := range d.given {
		if i.UID != "" {
			all = append(all, kubeapi.LabelValue(i.UID))
		}
	}
	if d.ref.UID != "" {
		all = append(all, kubeapi.LabelValue(d.ref.UID))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// isDependant reports whether an object is a dependant to delete.
func (d deleter) isDependant(m metav1.ObjectMeta) bool {
	if m.Labels[kubeapi.LabelCluster] != kubeapi.LabelValue(d.class.Cluster) {
		return false
	}
	if d.ref.UID != "" && m.Labels[kubeapi.LabelUID] == kubeapi.LabelValue(d.ref.UID) {
		return true
	}
	return slices.ContainsFunc(d.given, func(i provider.Instance) bool {
		return i.ID == m.Annotations[annotationVM] && kubeapi.LabelValue(i.UID) == m.Labels[kubeapi.LabelUID]
	})
}

// deleteDependants deletes secrets, data volumes and claims, and counts the remaining ones.
func (d deleter) deleteDependants(ctx context.Context) (left int, err error) {
	uids := d.uids()
	if len(uids) == 0 {
		return 0, nil
	}
	err = eachDependant(ctx, d.client, fmt.Sprintf("%s in (%s)", kubeapi.LabelUID, strings.Join(uids, ",")), func(p dependant) error {
		if !d.isDependant(p.meta) {
			return nil
		}
		left++
		if p.meta.DeletionTimestamp != nil {
			return nil
		}
		return p.remove(ctx)
	})
	return left, err
}

// dependant is an object that was created for a virtual machine.
type dependant struct {
	kind   string
	meta   metav1.ObjectMeta
	remove func(context.Context) error
}

// eachDependant visits the selected dependants.
func eachDependant(ctx context.Context, c *kubeapi.Client, selector string, visit func(dependant) error) error {
	for s, err := range kubeapi.Secrets.List(ctx, c, c.Namespace, selector) {
		if err != nil {
			return err
		}
		if err := visit(dependant{"secret", s.ObjectMeta, func(ctx context.Context) error { return kubeapi.Secrets.Remove(ctx, c, c.Namespace, s.Name, s.UID) }}); err != nil {
			return err
		}
	}
	for v, err := range dataVolumes.List(ctx, c, c.Namespace, selector) {
		if err != nil {
			return err
		}
		if err := visit(dependant{"data volume", v.ObjectMeta, func(ctx context.Context) error { return dataVolumes.Remove(ctx, c, c.Namespace, v.Name, v.UID) }}); err != nil {
			return err
		}
	}
	for v, err := range claims.List(ctx, c, c.Namespace, selector) {
		if err != nil {
			return err
		}
		if err := visit(dependant{"claim", v.ObjectMeta, func(ctx context.Context) error { return claims.Remove(ctx, c, c.Namespace, v.Name, v.UID) }}); err != nil {
			return err
		}
	}
	return nil
}

// deleteIgnition deletes the secret of OpenShift's original provider, which has no owner.
func (d deleter) deleteIgnition(ctx context.Context) error {
	if d.class.API != provider.OpenShift {
		return nil
	}
	for _, i := range d.given {
		if i.Tags[originalLabel(d.class.Cluster)] == "" || i.Tags[kubeapi.NoteCluster] != "" {
			continue
		}
		s, err := kubeapi.Secrets.Get(ctx, d.client, d.client.Namespace, i.ID+"-ignition")
		if err != nil {
			return err
		}
		if s == nil || s.Labels[originalLabel(d.class.Cluster)] == "" {
			continue
		}
		if err := kubeapi.Secrets.Remove(ctx, d.client, d.client.Namespace, s.Name, s.UID); err != nil {
			return err
		}
	}
	return nil
}
