package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// limit is the most that a machine of a system type may have.
type limit struct {
	memoryGiB  int32
	processors float64
}

// limits are those of the system types that are known. There may be others, of
// which nothing is known.
var limits = map[string]limit{
	"s922": {memoryGiB: 942, processors: 15},
	"e880": {memoryGiB: 7463, processors: 143},
	"e980": {memoryGiB: 15307, processors: 143},
}

// The least with which a machine is known to work, whatever its system type.
const (
	leastMemoryGiB = 32
	leastShared    = 0.5
	leastDedicated = 1.0
)

// size judges memory and processors, where the system type is known: for others the
// original asks for nothing, not even for numbers that are positive.
func size(at *field.Path, spec *machinev1.PowerVSMachineProviderConfig) (warnings []string, faults field.ErrorList) {
	most, known := limits[spec.SystemType]
	if !known {
		names := strings.Join(slices.Sorted(maps.Keys(limits)), ", ")
		return []string{fmt.Sprintf("%s: %q is not one of %s: its size is not checked", at.Child("systemType"), lenient.Shown(spec.SystemType), names)}, nil
	}
	warnings, faults = memory(at.Child("memoryGiB"), spec, most)
	more, wrong := processors(at.Child("processors"), spec, most)
	return append(warnings, more...), append(faults, wrong...)
}

func memory(at *field.Path, spec *machinev1.PowerVSMachineProviderConfig, most limit) (warnings []string, faults field.ErrorList) {
	switch m := spec.MemoryGiB; {
	case m < 0:
		return nil, field.ErrorList{field.Invalid(at, m, "must not be negative")}
	case m > most.memoryGiB:
		return nil, field.ErrorList{field.Invalid(at, m, fmt.Sprintf("a machine of type %s has no more than %d", spec.SystemType, most.memoryGiB))}
	case m < leastMemoryGiB:
		return []string{fmt.Sprintf("%s: %d is less than %d: the node may not start", at, m, leastMemoryGiB)}, nil
	}
	return nil, nil
}

func processors(at *field.Path, spec *machinev1.PowerVSMachineProviderConfig, most limit) (warnings []string, faults field.ErrorList) {
	text := lenient.Shown(spec.Processors.String())
	n, err := number(spec.Processors)
	least := leastShared
	if spec.ProcessorType == machinev1.PowerVSProcessorTypeDedicated {
		least = leastDedicated
	}
	switch {
	case err != nil:
		return nil, field.ErrorList{field.Invalid(at, text, "must be a number, or a text that is one")}
	case n < 0:
		return nil, field.ErrorList{field.Invalid(at, text, "must not be negative")}
	case n > most.processors:
		return nil, field.ErrorList{field.Invalid(at, text, fmt.Sprintf("a machine of type %s has no more than %v", spec.SystemType, most.processors))}
	case !(n >= least): // less, or NaN, which the original takes
		return []string{fmt.Sprintf("%s: %s is less than %v, which processors of type %q begin with", at, text, least, lenient.Shown(spec.ProcessorType))}, nil
	}
	return nil, nil
}

// number is how many processors there are, which may be a fraction as text.
func number(p intstr.IntOrString) (float64, error) {
	if p.Type == intstr.Int {
		return float64(p.IntVal), nil
	}
	return strconv.ParseFloat(p.StrVal, 64)
}
