package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"
)

// fillQuantity makes a quantity whose text form is already remembered, so that encoding does not change it.
func fillQuantity(v *resource.Quantity, c randfill.Continue) {
	*v = *resource.NewQuantity(c.Int63n(1000), resource.DecimalSI)
	_ = v.String()
}

// sameTime compares instants: a copy may name the zone otherwise.
func sameTime(a, b metav1.Time) bool {
	return a.Equal(&b)
}

// fillFailedMachines makes no pointer to a nil list, which would be null on the wire and a nil pointer afterwards.
func fillFailedMachines(v **[]MachineSummary, c randfill.Continue) {
	if c.Bool() {
		*v = &[]MachineSummary{{Name: c.String(8), OwnerRef: c.String(8)}}
	}
}
