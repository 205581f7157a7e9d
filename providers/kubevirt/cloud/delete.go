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

// Delete implements [provider.Session]: virtual machines first, and once they are gone, what was made for them.
func (s *session) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	done, err := remover{errand{s, c}, ref, given}.remove(ctx)
	if err != nil {
		return false, fmt.Errorf("remove what was made for %s: %w", ref.Name, s.observe(err))
	}
	return done, nil
}

// remover removes what was made for one machine.
type remover struct {
	errand
	ref   provider.Ref
	given []provider.Instance
}

func (r remover) remove(ctx context.Context) (done bool, err error) {
	left, err := r.removeMachines(ctx)
	if err != nil || left > 0 {
		return false, err
	}
	if left, err = r.removeParts(ctx); err != nil || left > 0 {
		return false, err
	}
	return true, r.removeIgnition(ctx)
}

// removeMachines asks for the end of what has ref's UID and of what is given, and counts what is left.
func (r remover) removeMachines(ctx context.Context) (left int, err error) {
	there := map[string]*kubevirt.VirtualMachine{}
	if r.ref.UID != "" {
		found, err := r.ofUID(ctx, r.ref.UID)
		if err != nil {
			return 0, err
		}
		for _, v := range found {
			there[v.Name] = v
		}
	}
	for _, i := range r.given {
		if _, listed := there[i.ID]; listed {
			continue
		}
		v, err := virtualMachines.Get(ctx, r.c, r.c.Namespace, i.ID)
		if err != nil {
			return 0, err
		}
		// Another machine's may have the name by now.
		if v != nil && r.owns(v.ObjectMeta) && marksOn(v.ObjectMeta).UID == i.UID {
			there[v.Name] = v
		}
	}
	for _, name := range sortedKeys(there) {
		left++
		if there[name].DeletionTimestamp != nil {
			continue
		}
		if err := virtualMachines.Remove(ctx, r.c, r.c.Namespace, name, there[name].UID); err != nil {
			return left, err
		}
	}
	return left, nil
}

// uids are those whose parts may have to go.
func (r remover) uids() (all []string) {
	for _, i := range r.given {
		if i.UID != "" {
			all = append(all, kubeapi.LabelValue(i.UID))
		}
	}
	if r.ref.UID != "" {
		all = append(all, kubeapi.LabelValue(r.ref.UID))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mine reports whether something that was made for a virtual machine is to go.
func (r remover) mine(m metav1.ObjectMeta) bool {
	if m.Labels[kubeapi.LabelCluster] != kubeapi.LabelValue(r.class.Cluster) {
		return false
	}
	if r.ref.UID != "" && m.Labels[kubeapi.LabelUID] == kubeapi.LabelValue(r.ref.UID) {
		return true
	}
	return slices.ContainsFunc(r.given, func(i provider.Instance) bool {
		return i.ID == m.Annotations[noteMachine] && kubeapi.LabelValue(i.UID) == m.Labels[kubeapi.LabelUID]
	})
}

// removeParts removes secrets, data volumes and claims, and counts what is left of them.
func (r remover) removeParts(ctx context.Context) (left int, err error) {
	uids := r.uids()
	if len(uids) == 0 {
		return 0, nil
	}
	err = eachPart(ctx, r.c, fmt.Sprintf("%s in (%s)", kubeapi.LabelUID, strings.Join(uids, ",")), func(p part) error {
		if !r.mine(p.meta) {
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

// part is something that is made for a virtual machine.
type part struct {
	kind   string
	meta   metav1.ObjectMeta
	remove func(context.Context) error
}

// eachPart visits what a selector chooses.
func eachPart(ctx context.Context, c *kubeapi.Client, selector string, visit func(part) error) error {
	for s, err := range kubeapi.Secrets.List(ctx, c, c.Namespace, selector) {
		if err != nil {
			return err
		}
		if err := visit(part{"secret", s.ObjectMeta, func(ctx context.Context) error { return kubeapi.Secrets.Remove(ctx, c, c.Namespace, s.Name, s.UID) }}); err != nil {
			return err
		}
	}
	for v, err := range dataVolumes.List(ctx, c, c.Namespace, selector) {
		if err != nil {
			return err
		}
		if err := visit(part{"data volume", v.ObjectMeta, func(ctx context.Context) error { return dataVolumes.Remove(ctx, c, c.Namespace, v.Name, v.UID) }}); err != nil {
			return err
		}
	}
	for v, err := range claims.List(ctx, c, c.Namespace, selector) {
		if err != nil {
			return err
		}
		if err := visit(part{"claim", v.ObjectMeta, func(ctx context.Context) error { return claims.Remove(ctx, c, c.Namespace, v.Name, v.UID) }}); err != nil {
			return err
		}
	}
	return nil
}

// removeIgnition removes the secret that OpenShift's original leaves behind: nothing owns it.
func (r remover) removeIgnition(ctx context.Context) error {
	if r.class.API != provider.OpenShift {
		return nil
	}
	for _, i := range r.given {
		if i.Tags[originalLabel(r.class.Cluster)] == "" || i.Tags[kubeapi.NoteCluster] != "" {
			continue
		}
		s, err := kubeapi.Secrets.Get(ctx, r.c, r.c.Namespace, i.ID+"-ignition")
		if err != nil {
			return err
		}
		if s == nil || s.Labels[originalLabel(r.class.Cluster)] == "" {
			continue
		}
		if err := kubeapi.Secrets.Remove(ctx, r.c, r.c.Namespace, s.Name, s.UID); err != nil {
			return err
		}
	}
	return nil
}
