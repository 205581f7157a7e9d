package spec

import (
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// warningsOf are about values that are accepted and have no effect, or one that is rarely intended. They
// have the texts of the original, except that about security groups, which it does not have.
func warningsOf(s *config, at *field.Path) (warnings []string) {
	warn := func(when bool, format string, args ...any) {
		if when {
			warnings = append(warnings, fmt.Sprintf(format, args...))
		}
	}
	unused := func(when bool, path *field.Path, name, instead, what string) {
		warn(when, "can't use %s, only %s can be used to reference %s", path.Child(name), instead, what)
	}
	ami, subnet, profile := at.Child("ami"), at.Child("subnet"), at.Child("iamInstanceProfile")
	unused(s.AMI.ARN != nil, ami, "arn", ami.Child("id").String(), "AMI")
	unused(s.AMI.Filters != nil, ami, "filters", ami.Child("id").String(), "AMI")

	warn(s.Subnet.ID == nil && s.Subnet.ARN == nil && s.Subnet.Filters == nil,
		"%s: No subnet has been provided. Instances may be created in an unexpected subnet and may not join the cluster.", subnet)
	unused(s.Subnet.ARN != nil, subnet, "arn", subnet.Child("id").String()+" or "+subnet.Child("filters").String(), "Subnet")
	warn(len(s.SecurityGroups) == 0, "%s: no security group has been provided, and no instance is created without one", at.Child("securityGroups"))

	warn(s.IAMInstanceProfile == nil, "%s: no IAM instance profile provided: nodes may be unable to join the cluster", profile)
	if p := s.IAMInstanceProfile; p != nil {
		unused(p.ARN != nil, profile, "arn", profile.Child("id").String(), "IAMInstanceProfile")
		unused(p.Filters != nil, profile, "filters", profile.Child("id").String(), "IAMInstanceProfile")
	}

	names := strings.Join(doubled(s.Tags), ",")
	warn(names != "", "%s: duplicated tag names (%s): only the first value will be used.", at.Child("tags"), lenient.Shown(names))
	return warnings
}

// doubled are the names that more than one tag has, in order of appearance.
func doubled(tags []machinev1beta1.TagSpecification) (names []string) {
	seen := map[string]int{}
	for _, tag := range tags {
		if seen[tag.Name]++; seen[tag.Name] == 2 {
			names = append(names, tag.Name)
		}
	}
	return names
}
