package machine

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// bootData renders the machine's user data, with a bootstrap token of its own
// where the user data asks for one.
func (p *pass[M]) bootData(ctx context.Context) ([]byte, error) {
	out, made, err := p.Nodes.BootData(ctx, p.infra.class.UserData, node.TokenRequest{
		Machine: p.ref(), Lifetime: p.infra.class.TokenLifetime, Groups: p.infra.class.TokenGroups,
	})
	switch {
	case err != nil:
		return nil, err
	case made:
		p.mem.token = tokenMade
	case p.mem.token == tokenUnknown:
		p.mem.token = tokenGone
	}
	return out, nil
}

// What is known of a machine's bootstrap token.
type tokenState int

const (
	// tokenUnknown: another process may have made one.
	tokenUnknown tokenState = iota
	tokenMade
	// tokenGone: there is none, or none any more.
	tokenGone
)

// dropToken takes the token away once it has served, or cannot serve any more,
// whatever the user data says by then. It returns when to try again; zero: not. A
// machine is not released while its token may be there and a later attempt may take
// that away: nobody would think of it again. One that is forced goes nevertheless, and
// so does one whose token may not be touched. Of a machine that has no node by now it is
// not known whether its own has joined, or one that was there before.
func (p *pass[M]) dropToken(ctx context.Context, out lifecycle.Outcome) (again time.Duration, err error) {
	released := out.Did(lifecycle.RemoveFinalizer)
	served := out.Stage == lifecycle.StageRunning && p.world.Node.Object != nil
	if !p.Nodes.Exists() || p.mem.token == tokenGone || !released && (!served || !p.mayHaveToken()) {
		return 0, nil
	}
	joined := p.world.Node.Object
	if released {
		joined = nil
	}
	gone, err := p.Nodes.DropToken(ctx, p.ref(), joined)
	switch {
	case err != nil && released && !p.view.Deletion.Force && !apierrors.IsForbidden(err):
		return 0, err
	case err != nil:
		p.log.Error(err, "cannot delete the bootstrap token; it expires by itself", "released", released)
		p.mem.token = tokenMade
		return max(p.policy.Delays.Transient, lifecycle.FirstDelay), nil
	case gone:
		p.mem.token = tokenGone
	default:
		p.mem.token = tokenMade
	}
	return 0, nil
}

// mayHaveToken reports whether the token of a machine that runs may still be
// good. After a new start nobody is asked about machines that have run for long.
func (p *pass[M]) mayHaveToken() bool {
	return p.mem.token == tokenMade || !p.view.HadNode() || p.Clock.Now().Sub(p.view.Created) < 2*p.infra.class.TokenLifetime
}
