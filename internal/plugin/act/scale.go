package act

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/plugin/project"
)

// offerScale offers to scale a deployment, or a set that no deployment scales.
func offerScale(in input) (Offer, bool) {
	now, sized := project.Replicas(in.Object.Object)
	alone := slices.Contains(groups, in.kind) && metav1.GetControllerOfNoCopy(in.Object.Object) == nil
	out := Offer{Label: "Scale", Value: "number of machines", Default: strconv.Itoa(now), Number: true}
	return out, sized && alone && in.GetDeletionTimestamp() == nil
}

// scale changes the number of machines. The line has the present number: if that changes, it is another line.
func scale(in input) (changed, error) {
	now, _ := project.Replicas(in.Object.Object)
	to, err := strconv.ParseInt(strings.TrimSpace(in.value), 10, 64)
	switch {
	case err != nil || to < 0 || to > math.MaxInt32:
		return changed{}, fmt.Errorf("value: must be a number of machines, not %q", in.value)
	case int(to) == now:
		return changed{}, fmt.Errorf("value: %s %s wants %d machines already", in.kind, in.name, now)
	}
	patch := map[string]any{"spec": map[string]any{"replicas": to}}
	return in.patched(patch, fmt.Sprintf("kubectl scale %s --current-replicas=%d --replicas=%d", in.argument(), now, to)), nil
}
