package disruption

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

// EmergencyStop is the name of the budget that stops all voluntary disruptions.
const EmergencyStop = "emergency-stop"

// NewStop returns the budget that stops all voluntary disruptions. Message says why.
func NewStop(message string) *v1alpha1.MachineDisruptionBudget {
	return &v1alpha1.MachineDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: EmergencyStop},
		Spec:       v1alpha1.MachineDisruptionBudgetSpec{Paused: true, Message: message},
	}
}
