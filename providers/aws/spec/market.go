package spec

import (
	"fmt"
	"regexp"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

var reservationID = regexp.MustCompile(`^cr-[0-9a-f]{17}$`)

// checkMarket holds how an instance is paid: on demand, spot or out of a reservation.
func checkMarket(s *config, at *field.Path) (faults field.ErrorList) {
	reserved, spot := s.CapacityReservationID != "", s.SpotMarketOptions != nil
	if reserved && !reservationID.MatchString(s.CapacityReservationID) {
		faults = append(faults, field.Invalid(at.Child("capacityReservationId"), lenient.Shown(s.CapacityReservationID),
			"give cr- and 17 digits of 0-9 and a-f"))
	}
	market := at.Child("marketType")
	refuse := func(why string) { faults = append(faults, field.Invalid(market, string(s.MarketType), why)) }
	switch s.MarketType {
	case "":
		if reserved && spot {
			faults = append(faults, field.Invalid(at.Child("capacityReservationId"), lenient.Shown(s.CapacityReservationID),
				"spotMarketOptions make a spot instance, which uses no capacity reservation"))
		}
	case machinev1beta1.MarketTypeOnDemand:
		if spot {
			refuse("cannot be used together with spotMarketOptions")
		}
	case machinev1beta1.MarketTypeSpot:
		if reserved {
			refuse("a spot instance uses no capacity reservation: leave out capacityReservationId")
		}
	case machinev1beta1.MarketTypeCapacityBlock:
		if spot {
			refuse("cannot be used together with spotMarketOptions")
		}
		if !reserved {
			refuse("a capacity block is found by capacityReservationId")
		}
	default:
		faults = append(faults, oneOf(market, s.MarketType,
			"", machinev1beta1.MarketTypeOnDemand, machinev1beta1.MarketTypeSpot, machinev1beta1.MarketTypeCapacityBlock)...)
	}
	return faults
}

// The bounds of a volume's throughput, in MiB/s.
const (
	leastThroughput = 125
	mostThroughput  = 2000
)

func checkBlockDevices(s *config, at *field.Path) (faults field.ErrorList) {
	for i, device := range s.BlockDevices {
		if len(faults) >= lenient.MostFaults {
			break
		}
		if device.EBS == nil || device.EBS.ThroughputMib == nil {
			continue
		}
		throughput, path := *device.EBS.ThroughputMib, at.Child("blockDevices").Index(i).Child("ebs", "throughputMib")
		switch kind := device.EBS.VolumeType; {
		case kind == nil || *kind != "gp3":
			faults = append(faults, field.Invalid(path, throughput, "only valid for gp3 volumes"))
		case throughput < leastThroughput || throughput > mostThroughput:
			faults = append(faults, field.Invalid(path, throughput, fmt.Sprintf("give %d to %d", leastThroughput, mostThroughput)))
		}
	}
	return faults
}
