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

// instance converts a virtual machine.
func (s scope) instance(v observed, now time.Time) provider.Instance {
	m := v.vm
	o := marksOn(m.ObjectMeta)
	i := provider.Instance{
		ID: m.Name, UID: o.UID, Name: o.Name, Owner: o.Owner, Namespace: o.Namespace, ProviderID: s.providerID(m.Namespace, m.Name),
		NodeName: nodeName(m), Addresses: addresses(v), State: state(v), RawState: string(m.Status.PrintableStatus),
		Type: typeOf(m), Region: placed(m, corev1.LabelTopologyRegion), Zone: placed(m, corev1.LabelTopologyZone),
		Created: m.CreationTimestamp.Time, Tags: kubeapi.Tags(m.ObjectMeta, annotationRan),
	}
	if i.State == provider.Stopping || i.State == provider.Running || m.Annotations[annotationRan] != "" {
		return i
	}
	if i.Fault = fault(v, now); i.Fault != nil {
		i.State = provider.Stopped
	}
	return i
}

// states maps the states of KubeVirt. Other states count as pending.
var states = map[kubevirt.VirtualMachinePrintableStatus]provider.State{
	kubevirt.VirtualMachineStatusRunning:   provider.Running,
	kubevirt.VirtualMachineStatusMigrating: provider.Running,
	kubevirt.VirtualMachineStatusPaused:    provider.Stopped,
	kubevirt.VirtualMachineStatusStopped:   provider.Stopped,
	kubevirt.VirtualMachineStatusStopping:  provider.Stopped,
}

func state(v observed) provider.State {
	if v.vm.DeletionTimestamp != nil {
		return provider.Stopping
	}
	printed := v.vm.Status.PrintableStatus
	st, known := states[printed]
	switch {
	case st == provider.Stopped && printed != kubevirt.VirtualMachineStatusPaused && wanted(v.vm):
		return provider.Pending // it is about to start, for the first time or again
	case known:
		return st
	case printed == kubevirt.VirtualMachineStatusUnknown && v.vmi != nil && v.vmi.Status.Phase != "":
		return provider.Running // its host is unreachable, and no controller has reported its end
	case !wanted(v.vm) && printed != "":
		return provider.Stopped
	}
	return provider.Pending
}

// wanted reports whether KubeVirt starts a virtual machine again after it has ended.
func wanted(m *kubevirt.VirtualMachine) bool {
	if m.Spec.Running != nil {
		return *m.Spec.Running
	}
	return m.Spec.RunStrategy != nil && *m.Spec.RunStrategy != kubevirt.RunStrategyHalted && *m.Spec.RunStrategy != kubevirt.RunStrategyManual
}

// statusDataVolumeNotFound is a status of KubeVirt before 1.0, which the current types lack.
const statusDataVolumeNotFound kubevirt.VirtualMachinePrintableStatus = "ErrorDataVolumeNotFound"

// patience is how long an unschedulable virtual machine may wait for a node.
const patience = time.Minute

// fault is why a virtual machine that never ran does not start; nil: no error is known.
func fault(v observed, now time.Time) *provider.Error {
	conditions := conditionsOf(v)
	for _, c := range conditions {
		if strings.Contains(c.message, kubeapi.QuotaExceeded) {
			return provider.ExhaustedIn(provider.ScopeAccount, "%s", c.message)
		}
	}
	printed := v.vm.Status.PrintableStatus
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

// failedCreate is the reason of conditions about a dependant that could not be created.
const failedCreate = "FailedCreate"

// unschedulable is the error of a virtual machine that fits no node; nil while it may still wait.
func unschedulable(v observed, conditions []condition, now time.Time) *provider.Error {
	since, message := v.vm.CreationTimestamp.Time, ""
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
	zone := v.vm.Spec.Template != nil && len(v.vm.Spec.Template.Spec.NodeSelector) > 0
	lacks := strings.Contains(message, "Insufficient") || strings.Contains(message, "Too many pods")
	if zone && !lacks && strings.Contains(message, "node affinity/selector") {
		return provider.ExhaustedIn(provider.ScopeZone, "no node of the zone fits: %s", message)
	}
	return provider.ExhaustedIn(provider.ScopeType, "no node has room: %s", cmp.Or(message, "KubeVirt does not say why"))
}

// condition is a condition of a virtual machine or of its instance.
type condition struct {
	kind, reason, message string
	since                 time.Time
}

// conditionsOf returns the conditions that report an error.
func conditionsOf(v observed) (all []condition) {
	for _, c := range v.vm.Status.Conditions {
		failed := c.Type == kubevirt.VirtualMachineFailure
		if c.Message != "" && failed == (c.Status == corev1.ConditionTrue) {
			all = append(all, condition{string(c.Type), c.Reason, c.Message, c.LastTransitionTime.Time})
		}
	}
	if v.vmi != nil {
		for _, c := range v.vmi.Status.Conditions {
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

// addresses are the guest's addresses in a stable order, and its name.
func addresses(v observed) (out []corev1.NodeAddress) {
	if v.vmi == nil {
		return nil
	}
	var ips []string
	for _, i := range v.vmi.Status.Interfaces {
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
	host := nodeName(v.vm)
	return append(out, corev1.NodeAddress{Type: corev1.NodeHostName, Address: host}, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: host})
}

// placed is the value of a node label that a virtual machine requires; empty: any.
func placed(m *kubevirt.VirtualMachine, label string) string {
	if m.Spec.Template == nil {
		return ""
	}
	return m.Spec.Template.Spec.NodeSelector[label]
}

// typeOf is the type of a virtual machine by its size: "2cpu-4096Mi".
func typeOf(m *kubevirt.VirtualMachine) string {
	if m.Spec.Template == nil {
		return ""
	}
	domain := m.Spec.Template.Spec.Domain
	made, err := converted[spec.Machine](map[string]any{"cpu": domain.CPU, "memory": domain.Memory, "resources": domain.Resources})
	if err != nil {
		return ""
	}
	return typeName(made)
}

func typeName(m *spec.Machine) string { return fmt.Sprintf("%dcpu-%dMi", m.VCPUs(), m.MemoryMiB()) }
