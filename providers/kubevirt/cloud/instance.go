package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubevirt "kubevirt.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
	"github.com/millwright-dev/millwright/providers/kubevirt/spec"
)

// instance says what KubeVirt shows in the words of the engine.
func (s scope) instance(v seen, now time.Time) provider.Instance {
	m := v.machine
	o := marksOn(m.ObjectMeta)
	i := provider.Instance{
		ID: m.Name, UID: o.UID, Name: o.Name, Owner: o.Owner, Namespace: o.Namespace, ProviderID: s.providerID(m.Namespace, m.Name),
		NodeName: nodeName(m), Addresses: addresses(v), State: state(v), RawState: string(m.Status.PrintableStatus),
		Type: typeOf(m), Region: placed(m, corev1.LabelTopologyRegion), Zone: placed(m, corev1.LabelTopologyZone),
		Created: m.CreationTimestamp.Time, Tags: kubeapi.Tags(m.ObjectMeta, noteRan),
	}
	if i.State == provider.Stopping || i.State == provider.Running || m.Annotations[noteRan] != "" {
		return i
	}
	if i.Fault = fault(v, now); i.Fault != nil {
		i.State = provider.Stopped
	}
	return i
}

// states are those of KubeVirt. What is not here is on its way, as far as is known.
var states = map[kubevirt.VirtualMachinePrintableStatus]provider.State{
	kubevirt.VirtualMachineStatusRunning:   provider.Running,
	kubevirt.VirtualMachineStatusMigrating: provider.Running,
	kubevirt.VirtualMachineStatusPaused:    provider.Stopped,
	kubevirt.VirtualMachineStatusStopped:   provider.Stopped,
	kubevirt.VirtualMachineStatusStopping:  provider.Stopped,
}

func state(v seen) provider.State {
	if v.machine.DeletionTimestamp != nil {
		return provider.Stopping
	}
	printed := v.machine.Status.PrintableStatus
	st, known := states[printed]
	switch {
	case st == provider.Stopped && printed != kubevirt.VirtualMachineStatusPaused && wanted(v.machine):
		return provider.Pending // it is about to start, for the first time or again
	case known:
		return st
	case printed == kubevirt.VirtualMachineStatusUnknown && v.instance != nil && v.instance.Status.Phase != "":
		return provider.Running // its host is out of sight, and nobody says that it ended
	case !wanted(v.machine) && printed != "":
		return provider.Stopped
	}
	return provider.Pending
}

// wanted reports whether KubeVirt starts a virtual machine that has ended.
func wanted(m *kubevirt.VirtualMachine) bool {
	if m.Spec.Running != nil {
		return *m.Spec.Running
	}
	return m.Spec.RunStrategy != nil && *m.Spec.RunStrategy != kubevirt.RunStrategyHalted && *m.Spec.RunStrategy != kubevirt.RunStrategyManual
}

// statusDataVolumeNotFound is of KubeVirt before 1.0; the types have it no more.
const statusDataVolumeNotFound kubevirt.VirtualMachinePrintableStatus = "ErrorDataVolumeNotFound"

// patience is how long a virtual machine that finds no node is waited for: nodes come and go.
const patience = time.Minute

// fault is why a virtual machine that never ran does not come up; nil: nothing is known against it.
func fault(v seen, now time.Time) *provider.Error {
	conditions := conditionsOf(v)
	for _, c := range conditions {
		if strings.Contains(c.message, kubeapi.QuotaExceeded) {
			return provider.ExhaustedIn(provider.ScopeAccount, "%s", c.message)
		}
	}
	printed := v.machine.Status.PrintableStatus
	because := func(k provider.Kind) *provider.Error {
		return provider.Errorf(k, "the virtual machine is %s%s", printed, reason(conditions))
	}
	switch printed {
	case kubevirt.VirtualMachineStatusUnschedulable:
		return unschedulable(v, conditions, now)
	case kubevirt.VirtualMachineStatusPvcNotFound, statusDataVolumeNotFound:
		e := because(provider.Invalid)
		e.Field = "additionalVolumes"
		return e
	case kubevirt.VirtualMachineStatusDataVolumeError, kubevirt.VirtualMachineStatusCrashLoopBackOff, kubevirt.VirtualMachineStatusErrImagePull,
		kubevirt.VirtualMachineStatusImagePullBackOff:
		return because(provider.Transient)
	}
	for _, c := range conditions {
		if c.reason == failedCreate {
			return provider.Errorf(provider.Transient, "KubeVirt cannot start the virtual machine: %s", c.message)
		}
	}
	return nil
}

// failedCreate is the reason of conditions where something that a virtual machine consists of could not be made.
const failedCreate = "FailedCreate"

// unschedulable is the fault of a virtual machine for which there is no node: nil while one may still come.
func unschedulable(v seen, conditions []condition, now time.Time) *provider.Error {
	since, message := v.machine.CreationTimestamp.Time, ""
	for _, c := range conditions {
		if c.kind == string(corev1.PodScheduled) || c.reason == corev1.PodReasonUnschedulable {
			message = c.message
			if c.since.After(since) {
				since = c.since
			}
		}
	}
	if now.Sub(since) < patience {
		return nil
	}
	zone := v.machine.Spec.Template != nil && len(v.machine.Spec.Template.Spec.NodeSelector) > 0
	lacks := strings.Contains(message, "Insufficient") || strings.Contains(message, "Too many pods")
	if zone && !lacks && strings.Contains(message, "node affinity/selector") {
		return provider.ExhaustedIn(provider.ScopeZone, "no node of the zone takes it: %s", message)
	}
	return provider.ExhaustedIn(provider.ScopeType, "no node has room for it: %s", cmp.Or(message, "KubeVirt does not say why"))
}

// condition is one of a virtual machine or of its instance.
type condition struct {
	kind, reason, message string
	since                 time.Time
}

// conditionsOf are those that tell of something wrong.
func conditionsOf(v seen) (all []condition) {
	for _, c := range v.machine.Status.Conditions {
		failed := c.Type == kubevirt.VirtualMachineFailure
		if c.Message != "" && failed == (c.Status == corev1.ConditionTrue) {
			all = append(all, condition{string(c.Type), c.Reason, c.Message, c.LastTransitionTime.Time})
		}
	}
	if v.instance != nil {
		for _, c := range v.instance.Status.Conditions {
			if c.Message != "" && c.Status == corev1.ConditionFalse {
				all = append(all, condition{string(c.Type), c.Reason, c.Message, c.LastTransitionTime.Time})
			}
		}
	}
	return all
}

func reason(conditions []condition) string {
	if len(conditions) == 0 {
		return ""
	}
	return ": " + conditions[0].message
}

// addresses are those of the guest, in a stable order, and its name.
func addresses(v seen) (out []corev1.NodeAddress) {
	if v.instance == nil {
		return nil
	}
	var ips []string
	for _, i := range v.instance.Status.Interfaces {
		for _, ip := range append([]string{i.IP}, i.IPs...) {
			if ip != "" && !slices.Contains(ips, ip) {
				ips = append(ips, ip)
			}
		}
	}
	for _, ip := range ips {
		out = append(out, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip})
	}
	if len(out) == 0 {
		return nil
	}
	host := nodeName(v.machine)
	return append(out, corev1.NodeAddress{Type: corev1.NodeHostName, Address: host}, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: host})
}

// placed is what the nodes are called that a virtual machine may run on; empty: it may run on any.
func placed(m *kubevirt.VirtualMachine, label string) string {
	if m.Spec.Template == nil {
		return ""
	}
	return m.Spec.Template.Spec.NodeSelector[label]
}

// typeOf is what a virtual machine is made with: "2cpu-4096Mi".
func typeOf(m *kubevirt.VirtualMachine) string {
	if m.Spec.Template == nil {
		return ""
	}
	domain := m.Spec.Template.Spec.Domain
	made, err := remade[spec.Machine](map[string]any{"cpu": domain.CPU, "memory": domain.Memory, "resources": domain.Resources})
	if err != nil {
		return ""
	}
	return typeName(made)
}

func typeName(m *spec.Machine) string { return fmt.Sprintf("%dcpu-%dMi", m.VCPUs(), m.MemoryMiB()) }
