package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/verify/checker"
	"github.com/millwright-dev/millwright/internal/verify/record"
)

// restore restores etcd to its state of some seconds before. The controllers continue to run, but reach the API server only
// after everything was listed. So the record continues with the restored state.
func restore(ctx context.Context, w *world, r *rand.Rand) error {
	data := filepath.Join(w.fleet.Plane.Dir, "etcd")
	copied := filepath.Join(w.dir, "etcd-copy")
	from := time.Now()
	if err := w.snapshot(data, copied); err != nil {
		return err
	}
	wait(ctx, millis(r, 4000, 8000))
	w.each(weather{hang: true})
	if err := w.fleet.Plane.Stop(w.ctx); err != nil {
		return err
	}
	until := time.Now() // the API server may have executed requests that passed the proxies until it ended
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	if err := os.Rename(copied, data); err != nil {
		return err
	}
	args, err := w.planeArgs()
	if err != nil {
		return err
	}
	plane, err := devplane.Start(w.ctx, devplane.Options{
		Dir: w.fleet.Plane.Dir, Assets: w.fleet.Plane.Assets, Components: []string{devplane.ControllerManager, devplane.Scheduler, devplane.Kwok},
		ExtraArgs: args, Log: os.Stderr,
	})
	if err != nil {
		return fmt.Errorf("start the control plane again: %w", err)
	}
	w.fleet.Plane = plane
	if err := w.listAll(); err != nil {
		return err
	}
	w.log.mark(checker.Event{Mark: checker.Restored, From: from, Until: until})
	if err := w.register(w.ctx); err != nil {
		return err
	}
	w.each(weather{})
	return nil
}

// snapshot copies the folder of etcd while etcd is stopped. A crash at this moment would leave the same files.
func (w *world) snapshot(data, into string) error {
	etcd, ok := w.fleet.Plane.Component(devplane.Etcd)
	if !ok {
		return fmt.Errorf("the box has no etcd")
	}
	if err := etcd.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(50 * time.Millisecond)
	err := os.CopyFS(into, os.DirFS(data))
	if resumed := etcd.Signal(contSignal); resumed != nil {
		return resumed
	}
	if err != nil {
		return fmt.Errorf("copy the data of etcd: %w", err)
	}
	return nil
}

// listAll lists all objects, as the user whose lists are in the audit log.
func (w *world) listAll() error {
	c, err := w.clientOf(record.Census)
	if err != nil {
		return err
	}
	core := schema.GroupVersion{Version: "v1"}
	kinds := []schema.GroupVersionKind{core.WithKind("Node"), core.WithKind("Pod"), gardener.WithKind("MachineClass")}
	for _, gv := range apis {
		kinds = append(kinds, gv.WithKind("Machine"), gv.WithKind("MachineSet"), gv.WithKind("MachineDeployment"))
	}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		kind.Kind += "List"
		list.SetGroupVersionKind(kind)
		if err := c.List(w.ctx, list); err != nil {
			return fmt.Errorf("list the restored objects: %w", err)
		}
	}
	return nil
}

// registered is the label of nodes that register created. Their instances do not know them.
const registered = "history/registered"

// approveOrphans is the annotation in which an operator allows the removal of instances, by their provider IDs.
const approveOrphans = "millwright.dev/approve-orphan-removal"

// register simulates the kubelets, which register again after etcd has lost their nodes, and the cloud controller manager,
// which deletes the nodes of instances that do not exist.
func (w *world) register(ctx context.Context) error {
	wanted := w.byNode()
	nodes, err := w.list(ctx, "Node", schema.GroupVersion{Version: "v1"})
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if _, ok := wanted[n.GetName()]; !ok {
			if err := w.remove(ctx, ref{n.GroupVersionKind(), client.ObjectKeyFromObject(n)}); err != nil {
				return err
			}
		}
		delete(wanted, n.GetName())
	}
	for name, r := range wanted {
		n := &unstructured.Unstructured{}
		n.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		n.SetName(name)
		n.SetAnnotations(map[string]string{devplane.KwokNodeAnnotation: devplane.KwokNodeValue, instanceOf: r.ID})
		n.SetLabels(map[string]string{corev1.LabelHostname: name, registered: ""})
		if err := unstructured.SetNestedField(n.Object, "kubemark://"+name, "spec", "providerID"); err != nil {
			return err
		}
		if err := w.client.Create(ctx, n); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("register node %s: %w", name, err)
		}
	}
	return nil
}

// byNode returns the instances by the names of their nodes.
func (w *world) byNode() map[string]record.Sight {
	out := map[string]record.Sight{}
	for _, s := range w.log.living() {
		out[s.Machine] = s
	}
	return out
}

// repair does the work of others after a restore. As an operator, it deletes machines of machine.openshift.io that were
// restored without their instances and failed. As the cloud controller manager, it deletes the nodes of ended instances. As an
// operator, it also allows the removal of instances whose machines were lost: their nodes are Ready, so Millwright does not
// remove them without an approval.
func (w *world) repair(ctx context.Context) error {
	if !w.restores {
		return nil
	}
	if err := w.approve(ctx); err != nil {
		return err
	}
	machines, err := w.list(ctx, "Machine", openshift)
	if err != nil {
		return err
	}
	for _, m := range machines {
		if phase, _, _ := unstructured.NestedString(m.Object, "status", "phase"); phase == "Failed" && m.GetDeletionTimestamp() == nil {
			if err := w.remove(ctx, ref{m.GroupVersionKind(), client.ObjectKeyFromObject(m)}); err != nil {
				return err
			}
		}
	}
	nodes, err := w.list(ctx, "Node", schema.GroupVersion{Version: "v1"})
	if err != nil {
		return err
	}
	alive := w.byNode()
	for _, n := range nodes {
		_, ours := n.GetLabels()[registered]
		if _, there := alive[n.GetName()]; ours && !there {
			if err := w.remove(ctx, ref{n.GroupVersionKind(), client.ObjectKeyFromObject(n)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// approve names the instances that have no machine on the sets and classes that a scope may have.
func (w *world) approve(ctx context.Context) error {
	instances := w.log.instances() // before the machines: each is older than its instance
	machines, err := w.list(ctx, "Machine", apis...)
	if err != nil {
		return err
	}
	for _, m := range machines {
		delete(instances, string(m.GetUID()))
	}
	var named []string
	for _, of := range instances {
		for _, r := range of {
			named = append(named, "kubemark://"+r.Machine)
		}
	}
	slices.Sort(named)
	word, value := strings.Join(named, ", "), "null"
	if word != "" {
		value = fmt.Sprintf("%q", word)
	}
	for kind, gv := range map[string]schema.GroupVersion{"MachineSet": openshift, "MachineClass": gardener} {
		scopes, err := w.list(ctx, kind, gv)
		if err != nil {
			return err
		}
		for _, s := range scopes {
			if s.GetAnnotations()[approveOrphans] == word {
				continue
			}
			if err := w.patch(ctx, ref{s.GroupVersionKind(), client.ObjectKeyFromObject(s)}, `{"metadata":{"annotations":{%q:%s}}}`, approveOrphans, value); err != nil {
				return err
			}
		}
	}
	return nil
}
