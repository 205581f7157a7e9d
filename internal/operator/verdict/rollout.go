package verdict

import (
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

const (
	// rolloutPoll is when to look again at a rollout that is under way.
	rolloutPoll = 5 * time.Second
	// settled is how long a Deployment has to be available before it counts as available.
	settled = 3 * time.Minute
)

// Wait says what to wait for, and when to look again at the latest; the zero value: nothing.
type Wait struct {
	For   string
	After time.Duration
}

// Deployment judges a rollout; d is nil if it does not exist. It fails if the Deployment does not exist or
// is under deletion.
func Deployment(d *appsv1.Deployment, now time.Time) (Wait, error) {
	if d == nil {
		return Wait{}, errors.New("deployment machine-api-controllers is not there")
	}
	if d.DeletionTimestamp != nil {
		return Wait{}, fmt.Errorf("deployment %s is being deleted", d.Name)
	}
	want, s := ptr.Deref(d.Spec.Replicas, 1), d.Status
	if s.ObservedGeneration < d.Generation || s.UpdatedReplicas < want || s.AvailableReplicas < want || s.UnavailableReplicas > 0 || s.Replicas > s.UpdatedReplicas {
		return Wait{fmt.Sprintf("deployment %s has %d of %d replicas updated and %d available", d.Name, s.UpdatedReplicas, want, s.AvailableReplicas), rolloutPoll}, nil
	}
	for _, c := range s.Conditions {
		if c.Type != appsv1.DeploymentAvailable || c.Status != corev1.ConditionTrue {
			continue
		}
		if rest := settled - now.Sub(c.LastTransitionTime.Time); rest > 0 {
			return Wait{fmt.Sprintf("deployment %s has not been available for %s", d.Name, settled), rest}, nil
		}
		return Wait{}, nil
	}
	return Wait{fmt.Sprintf("deployment %s is not available", d.Name), rolloutPoll}, nil
}

// DaemonSet judges a rollout; d is nil if it does not exist. It fails if the DaemonSet does not exist or is
// under deletion.
func DaemonSet(d *appsv1.DaemonSet) (Wait, error) {
	if d == nil {
		return Wait{}, errors.New("daemonset machine-api-termination-handler is not there")
	}
	if d.DeletionTimestamp != nil {
		return Wait{}, fmt.Errorf("daemonset %s is being deleted", d.Name)
	}
	s := d.Status
	if s.ObservedGeneration < d.Generation || s.UpdatedNumberScheduled < s.DesiredNumberScheduled || s.NumberUnavailable > 0 {
		return Wait{fmt.Sprintf("daemonset %s has %d of %d pods updated and %d unavailable", d.Name, s.UpdatedNumberScheduled, s.DesiredNumberScheduled, s.NumberUnavailable), rolloutPoll}, nil
	}
	return Wait{}, nil
}

// Set has the fields of a MachineSet that count.
type Set struct {
	Name string
	// Replicas are the requested ones; nil is 1.
	Replicas *int32
	Selector metav1.LabelSelector
}

// Machine has the fields of a Machine that count.
type Machine struct {
	Name    string
	Labels  map[string]string
	Running bool
}

// A ShortageError says why there are too few machines to call an installation done. It is reported at once:
// machines appear by themselves or not at all, and a user who installs a cluster needs to know what is
// waited for.
type ShortageError struct{ text string }

// Error implements error.
func (s *ShortageError) Error() string { return s.text }

// ShortagePoll is when to look again at a shortage.
const ShortagePoll = rolloutPoll

// minimumWorkers have to run before an installation that asks for more than one is done.
const minimumWorkers = 2

// Workers returns a [ShortageError] if there are too few machines to call an installation done; nil: there
// are enough.
func Workers(sets []Set, machines []Machine) error {
	expected := int32(0)
	for _, s := range sets {
		selector, err := metav1.LabelSelectorAsSelector(&s.Selector)
		if err != nil {
			return fmt.Errorf("MachineSet %s: spec.selector: %w", s.Name, err)
		}
		want, have := ptr.Deref(s.Replicas, 1), int32(0)
		for _, m := range machines {
			if selector.Matches(labels.Set(m.Labels)) {
				have++
			}
		}
		if want != have {
			return &ShortageError{fmt.Sprintf("replicas not satisfied for MachineSet: expected %d replicas, got %d current replicas", want, have)}
		}
		expected += want
	}
	running, waiting := 0, []string{}
	for _, m := range machines {
		if m.Running {
			running++
		} else {
			waiting = append(waiting, m.Name)
		}
	}
	if expected <= 1 || running >= minimumWorkers {
		return nil
	}
	return &ShortageError{fmt.Sprintf("minimum worker replica count (%d) not yet met: current running replicas %d, waiting for [%s]", minimumWorkers, running, strings.Join(waiting, " "))}
}
