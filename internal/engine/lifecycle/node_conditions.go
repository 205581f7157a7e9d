package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Limits for the reported conditions of a node. A kubelet can write any number, and the report may be stored
// in the cluster of the machines, which may be another one.
const (
	mostConditions     = 40
	mostConditionBytes = 16 << 10
	mostWord           = 100 // bytes of a condition's type, and of its reason
	mostSentence       = 150 // of its message
)

// Telling returns the conditions of a node to report: all, unless they are more than 40 or 16 KiB. Then it
// returns the first ones with types of a normal length, and their texts cut: Ready, those that the policy and
// the caller name, and the others by type.
func Telling(n *corev1.Node, p Policy, named ...corev1.NodeConditionType) []corev1.NodeCondition {
	if n == nil {
		return nil
	}
	all := n.Status.Conditions
	if len(all) <= mostConditions && sizeOf(all) <= mostConditionBytes {
		return slices.Clone(all)
	}
	ranks := map[string]int{}
	for _, t := range slices.Concat(p.Health.Conditions, p.Drain.DefectConditions) {
		ranks[t] = 1
	}
	for _, t := range named {
		ranks[string(t)] = 1
	}
	ranks[string(corev1.NodeReady)] = 2
	out := slices.DeleteFunc(slices.Clone(all), func(c corev1.NodeCondition) bool { return len(c.Type) > mostWord })
	slices.SortStableFunc(out, func(a, b corev1.NodeCondition) int {
		return cmp.Or(cmp.Compare(ranks[string(b.Type)], ranks[string(a.Type)]), cmp.Compare(a.Type, b.Type))
	})
	out = slices.Clip(out[:min(len(out), mostConditions)])
	for i := range out {
		c := &out[i]
		c.Status = corev1.ConditionStatus(provider.Clip(string(c.Status), mostWord))
		c.Reason, c.Message = provider.Clip(c.Reason, mostWord), provider.Clip(c.Message, mostSentence)
	}
	return out
}

func sizeOf(list []corev1.NodeCondition) (bytes int) {
	for _, c := range list {
		bytes += len(c.Type) + len(c.Status) + len(c.Reason) + len(c.Message)
	}
	return bytes
}

// Conditions joins a node's conditions into one line, and counts those left out.
func Conditions(n *corev1.Node, p Policy) string {
	told := Telling(n, p)
	out := make([]string, 0, len(told)+1)
	for _, c := range told {
		out = append(out, fmt.Sprintf("%s=%s", c.Type, c.Status))
	}
	if n != nil && len(n.Status.Conditions) > len(told) {
		out = append(out, fmt.Sprintf("and %d more", len(n.Status.Conditions)-len(told)))
	}
	return "[" + provider.Clip(strings.Join(out, " "), 2<<10) + "]"
}
