// Package v1alpha1 has the kinds of the API group millwright.dev. They are optional: without their CRDs, no controller reads or
// writes them.
//
// +kubebuilder:object:generate=true
// +groupName=millwright.dev
package v1alpha1
