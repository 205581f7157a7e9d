package machine

import (
	"context"

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
	p.world.Token = p.token()
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

// token is what the engine is told of it.
func (p *pass[M]) token() lifecycle.Token {
	if !p.Nodes.Exists() {
		return lifecycle.Token{}
	}
	states := map[tokenState]lifecycle.TokenState{tokenUnknown: lifecycle.TokenUnknown, tokenMade: lifecycle.TokenMade}
	return lifecycle.Token{State: states[p.mem.token], Lifetime: p.infra.class.TokenLifetime}
}

// dropToken takes the token away, whatever the user data says by then, and reports whether one
// is gone that was known. A machine is not released while its token may be there and a later attempt may
// take that away: nobody would think of it again. One that is forced goes nevertheless, and
// so does one whose token may not be touched. Of a machine that has no node by now it is
// not known whether its own has joined, or one that was there before.
func (p *pass[M]) dropToken(ctx context.Context) (did bool, err error) {
	made := p.mem.token == tokenMade
	joined, released := p.world.Node.Object, false
	if f := p.world.Final; f != nil && f.Step == lifecycle.RemoveFinalizer {
		joined, released = nil, true
	}
	gone, err := p.Nodes.DropToken(ctx, p.ref(), joined)
	if err != nil && released && !p.view.Deletion.Force && !apierrors.IsForbidden(err) {
		return false, err
	}
	p.mem.token, p.world.Token = tokenMade, lifecycle.Token{}
	if err != nil {
		p.log.Error(err, "cannot delete the bootstrap token; it expires by itself", "released", released)
		p.world.Token.Again = max(p.policy.Delays.Transient, lifecycle.FirstDelay)
	} else if gone {
		p.mem.token = tokenGone
	}
	return made && gone, nil
}
