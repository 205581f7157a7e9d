package spec

import (
	"fmt"
	"regexp"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

var reservationID = regexp.MustCompile(`^cr-[0-9a-f]{17}$`)

// checkReservation checks the format of a reservation's name.
func checkReservation(s *config, at *field.Path) field.ErrorList {
	if s.CapacityReservationID == "" || reservationID.MatchString(s.CapacityReservationID) {
		return nil
	}
	shown := lenient.Shown(s.CapacityReservationID)
	return field.ErrorList{field.Invalid(at.Child("capacityReservationId"), shown,
		fmt.Sprintf("invalid value for capacityReservationId: %q, it must start with 'cr-' and be exactly 20 characters long with 17 hexadecimal characters", shown))}
}

// checkMarket checks how an instance is paid: on demand, spot or out of a reservation. It is stricter than
// the creation of instances.
func checkMarket(s *config, at *field.Path) field.ErrorList {
	reserved, spot := s.CapacityReservationID != "", s.SpotMarketOptions != nil
	refuse := func(why string) field.ErrorList {
		return field.ErrorList{field.Invalid(at.Child("marketType"), lenient.Shown(s.MarketType), why)}
	}
	switch market := s.MarketType; {
	case market == "" && reserved && spot:
		return field.ErrorList{field.Invalid(at.Child("capacityReservationId"), lenient.Shown(s.CapacityReservationID), "spotMarketOptions and capacityReservationID may not be used together")}
	case market == machinev1beta1.MarketTypeCapacityBlock && spot:
		return refuse("invalid marketType: marketType set to CapacityBlock and spotMarketOptions cannot be used together")
	case market == machinev1beta1.MarketTypeOnDemand && spot:
		return refuse("invalid marketType: setting marketType to OnDemand and spotMarketOptions cannot be used together")
	case market == machinev1beta1.MarketTypeCapacityBlock && !reserved:
		return refuse("capacityReservationID is required when CapacityBlock is provided")
	case market == machinev1beta1.MarketTypeSpot && reserved:
		return refuse("invalid marketType: marketType set to Spot and capacityReservationID may not be used together")
	}
	switch s.MarketType {
	case "", machinev1beta1.MarketTypeOnDemand, machinev1beta1.MarketTypeSpot, machinev1beta1.MarketTypeCapacityBlock:
		return nil
	}
	return refuse(fmt.Sprintf("invalid marketType: %s valid values are: %s, %s, %s and omitted", lenient.Shown(s.MarketType),
		machinev1beta1.MarketTypeOnDemand, machinev1beta1.MarketTypeSpot, machinev1beta1.MarketTypeCapacityBlock))
}

// The bounds of a volume's throughput, in MiB/s.
const (
	leastThroughput = 125
	mostThroughput  = 2000
)

// checkBlockDevices holds the throughput of disks whose type is given.
func checkBlockDevices(s *config, at *field.Path) (faults field.ErrorList) {
	for i, device := range s.BlockDevices {
		if len(faults) >= lenient.MostFaults {
			break
		}
		if device.EBS == nil || device.EBS.ThroughputMib == nil || device.EBS.VolumeType == nil {
			continue
		}
		throughput, path := *device.EBS.ThroughputMib, at.Child("blockDevices").Index(i).Child("ebs", "throughputMib")
		switch {
		case *device.EBS.VolumeType != "gp3":
			faults = append(faults, field.Invalid(path, throughput, "only valid for gp3 volumes"))
		case throughput < leastThroughput || throughput > mostThroughput:
			faults = append(faults, field.Invalid(path, throughput, fmt.Sprintf("must be a value between %d and %d", leastThroughput, mostThroughput)))
		}
	}
	return faults
}
